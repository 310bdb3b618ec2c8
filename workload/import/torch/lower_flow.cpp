/* What is left of control flow: branches and loops. Attributes assigned inside become values that flow out of them. */
#include "failure.hpp"
#include "lower.hpp"
#include <algorithm>

namespace adept
{
namespace
{

namespace jit = torch::jit;

bool same(const binding &a, const binding &b)
{
    return a.value == b.value && a.object == b.object;
}

/* Has a value of that type no other type? None, a tensor, a list: but not one of several. */
bool is_narrow(const c10::Type &type)
{
    switch (type.kind()) {
    case c10::TypeKind::NoneType:
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType: return true;
    default: return false;
    }
}

} // namespace

/* "model.py:12" of a node, where the file has its debug records; else nothing. Folders are the writer's business. */
const char *lowering::source_line(const jit::Node &node)
{
    auto original = node.sourceRange().findSourceRangeThatGenerated();
    auto place = original ? original->file_line_col() : c10::nullopt;
    if (!place) return "";
    const std::string &file = std::get<0>(*place);
    std::string text = file.substr(file.rfind('/') + 1) + ":" + std::to_string(std::get<1>(*place));
    return text.size() > 200 ? "" : intern(text)->c_str();
}

/* ---- prim::If ---- */

bool lowering::answer(frame &f, const jit::Node &node, bool answer, ir_block &out)
{
    binding b = f.values[node.output()] = emit_constant(f, answer, "constant", out);
    answers_[b.value] = answer;
    return true;
}

/* `x is None` of an instance, which is never None, and of what is None in the file or by its type never is. Programs
 * ask it of attributes before they make an instance and keep it there. @return false if the answer is not known */
bool lowering::answer_is_none(frame &f, const jit::Node &node, ir_block &out)
{
    const binding &a = bound(f, node.inputs().at(0)), &b = bound(f, node.inputs().at(1));
    bool is = node.kind() == c10::aten::__is__;
    auto none = types_.find(b.value), type = types_.find(a.value);
    if (none == types_.end() || none->second->kind() != c10::TypeKind::NoneType) return false;
    if (a.object || a.parts) return answer(f, node, !is, out);
    if (type == types_.end() || !is_narrow(*type->second)) return false;
    return answer(f, node, (type->second->kind() == c10::TypeKind::NoneType) == is, out);
}

/* isinstance(x, T), where x was passed for a union of types. @return false if the answer is not known */
bool lowering::answer_is_instance(frame &f, const jit::Node &node, ir_block &out)
{
    auto type = types_.find(bound(f, node.input()).value);
    if (type == types_.end() || !is_narrow(*type->second)) return false;
    const auto &asked = node.tys(jit::attr::types);
    bool any = std::any_of(asked.begin(), asked.end(), [&](const auto &t) { return type->second->isSubtypeOf(*t); });
    return answer(f, node, any, out);
}

/* A branch whose condition is known is no branch: instances flow out of it. @return false if it is not known */
bool lowering::lower_taken_branch(frame &f, const jit::Node &node, ir_block &out)
{
    auto known = answers_.find(value_in(f, node, node.inputs().at(0)));
    if (known == answers_.end()) return false;
    const jit::Block &block = *node.blocks()[known->second ? 0 : 1];
    lower_nodes(f, block, out);
    for (size_t i = 0; i < node.outputs().size(); i++)
        f.values[node.outputs()[i]] = binding(bound(f, block.outputs().at(i)));
    return true;
}

void lowering::lower_if(frame &f, const jit::Node &node, ir_block &out)
{
    if (node.blocks().size() != 2) fail_invalid(where(f) + ": prim::If without two branches");
    if (lower_taken_branch(f, node, out)) return;
    ir_node made;
    made.op = node.kind().toQualString();
    made.overload = source_line(node);
    made.module = f.module;
    made.inputs.push_back(value_in(f, node, node.inputs().at(0)));
    made.names.push_back(nullptr);
    made.blocks.resize(2);
    attribute_state before = state_;
    lower_nodes(f, *node.blocks()[0], made.blocks[0]);
    attribute_state then_state = std::move(state_);
    state_ = before;
    lower_nodes(f, *node.blocks()[1], made.blocks[1]);
    attribute_state else_state = std::move(state_);
    merge_outputs(f, node, made);
    merge_states(f, before, std::move(then_state), std::move(else_state), made);
    append(out, std::move(made));
}

void lowering::merge_outputs(frame &f, const jit::Node &node, ir_node &into)
{
    for (size_t i = 0; i < node.outputs().size(); i++) {
        const binding &a = bound(f, node.blocks()[0]->outputs().at(i));
        const binding &b = bound(f, node.blocks()[1]->outputs().at(i));
        if (a.object && a.object == b.object) {
            f.values[node.outputs()[i]] = a;
            continue;
        }
        into.blocks[0].returns.push_back(as_value(f, a, "a branch"));
        into.blocks[1].returns.push_back(as_value(f, b, "a branch"));
        into.outputs.push_back(define(f, node.outputs()[i]));
    }
}

/* The attribute as it is at the end of a branch that need not have touched it; may add the node that reads it. */
binding lowering::branch_attribute(const frame &f, const attribute_key &key, attribute_state &state, ir_block &out)
{
    binding owner;
    owner.object = instances_.at(static_cast<size_t>(key.first)).get();
    owner.path = f.self.path;
    std::swap(state_, state);
    binding b = get_attribute(f, owner, key.second, out);
    std::swap(state_, state);
    return b;
}

void lowering::merge_states(frame &f, const attribute_state &before, attribute_state then_state,
                            attribute_state else_state, ir_node &into)
{
    attribute_state keys = then_state;
    keys.insert(else_state.begin(), else_state.end());
    state_ = before;
    for (const auto &entry : keys) {
        const attribute_key &key = entry.first;
        auto a = then_state.find(key), b = else_state.find(key);
        bool both = a != then_state.end() && b != else_state.end();
        if (both && same(a->second, b->second)) {
            state_[key] = a->second;
            continue;
        }
        /* Made inside one branch: nothing after the branches can reach it. */
        if (!both && !instances_.at(static_cast<size_t>(key.first))->object) continue;
        binding x = branch_attribute(f, key, then_state, into.blocks[0]);
        binding y = branch_attribute(f, key, else_state, into.blocks[1]);
        into.blocks[0].returns.push_back(as_value(f, x, "attribute '" + key.second + "', assigned in a branch,"));
        into.blocks[1].returns.push_back(as_value(f, y, "attribute '" + key.second + "', assigned in a branch,"));
        binding merged{fresh()};
        into.outputs.push_back(merged.value);
        state_[key] = merged;
    }
}

/* ---- prim::Loop ---- */

/* Attributes that existed before and have another value now. */
std::vector<attribute_key> lowering::changed_since(const attribute_state &before) const
{
    std::vector<attribute_key> changed;
    for (const auto &entry : state_) {
        auto old = before.find(entry.first);
        bool existed = old != before.end() || instances_.at(static_cast<size_t>(entry.first.first))->object;
        if (existed && (old == before.end() || !same(old->second, entry.second))) changed.push_back(entry.first);
    }
    return changed;
}

/* The loop as a node, with the carried attributes after the loop's own values. state_ is as at the end of the body. */
ir_node lowering::lower_loop_body(frame &f, const jit::Node &node, const std::vector<attribute_key> &carried,
                                  ir_block &out)
{
    ir_node made;
    made.op = node.kind().toQualString();
    made.overload = source_line(node);
    made.module = f.module;
    for (const jit::Value *input : node.inputs())
        made.inputs.push_back(value_in(f, node, input));
    made.blocks.resize(1);
    for (const jit::Value *param : node.blocks().at(0)->inputs())
        made.blocks[0].params.push_back(define(f, param));
    for (const attribute_key &key : carried) {
        binding initial = branch_attribute(f, key, state_, out), param{fresh()};
        made.inputs.push_back(as_value(f, initial, "attribute '" + key.second + "', assigned in a loop,"));
        made.blocks[0].params.push_back(param.value);
        state_[key] = param;
    }
    made.names.assign(made.inputs.size(), nullptr);
    lower_nodes(f, *node.blocks()[0], made.blocks[0]);
    for (const jit::Value *value : node.blocks()[0]->outputs())
        made.blocks[0].returns.push_back(value_in(f, node, value));
    for (const jit::Value *output : node.outputs())
        made.outputs.push_back(define(f, output));
    return made;
}

void lowering::lower_loop(frame &f, const jit::Node &node, ir_block &out)
{
    attribute_state before = state_;
    ir_node made = lower_loop_body(f, node, {}, out);
    std::vector<attribute_key> carried = changed_since(before);
    if (!carried.empty()) { /* the body must see what an earlier round assigned: lower it again with that as values */
        state_ = before;
        made = lower_loop_body(f, node, carried, out);
    }
    attribute_state after = std::move(state_);
    state_ = before;
    for (const attribute_key &key : carried) {
        auto last = after.find(key);
        made.blocks[0].returns.push_back(
            as_value(f, last->second, "attribute '" + key.second + "', assigned in a loop,"));
        binding result{fresh()};
        made.outputs.push_back(result.value);
        state_[key] = result;
    }
    append(out, std::move(made));
}

} // namespace adept
