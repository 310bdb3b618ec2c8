#include "schemas.hpp"
#include <regex>
#include <stdexcept>
#include <torch/csrc/jit/runtime/operator.h>

namespace adept
{
namespace
{

/* The lines of schemas.txt. */
const char *const schemas[] = {
#include "schemas.inc"
};

bool is_declared(const std::string &name, const std::string &overload)
{
    for (const auto &op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
        if (op->schema().overload_name() == overload) return true;
    }
    return false;
}

[[noreturn]] void never_run(torch::jit::Stack &)
{
    throw std::runtime_error("this operator was declared only to read the file; it cannot be run");
}

void declare_schema(const std::string &schema)
{
    std::string full_name = schema.substr(0, schema.find('('));
    size_t dot = full_name.find('.');
    std::string overload = dot == std::string::npos ? "" : full_name.substr(dot + 1);
    if (is_declared(full_name.substr(0, dot), overload)) return;
    torch::jit::registerOperator(torch::jit::Operator(schema, never_run, c10::AliasAnalysisKind::FROM_SCHEMA));
}

} // namespace

void declare_newer_operators()
{
    for (const char *schema : schemas)
        declare_schema(schema);
}

/* ---- operators nobody told us about ---- */

/* Any positional arguments, exactly these keywords, one tensor out: enough to load the file and to name the operator.
 * (A schema with "..." may have no defaults, so every set of keywords in use is an overload.) */
bool unknown_operators::declare(const std::string &name, const keywords &words)
{
    constexpr size_t most = 200; /* rounds of loading; a real file uses a handful of foreign operators */
    if (declared_.size() >= most || !declared_.emplace(name, words).second) return false;
    std::string schema = name + ".adept" + std::to_string(declared_.size()) + "(";
    if (!words.empty()) schema += "*, ";
    for (const std::string &word : words)
        schema += "Any " + word + ", ";
    schema += "...) -> Tensor";
    torch::jit::registerOperator(torch::jit::Operator(schema, never_run, c10::AliasAnalysisKind::CONSERVATIVE));
    return true;
}

bool unknown_operators::declare_from(const std::string &message)
{
    static const std::regex unknown("Unknown builtin op: ([A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*)");
    /* One of our own overloads and why it does not match: "ns::op.adept1(*, Any a, ...) -> Tensor:\n Keyword ..." */
    static const std::regex keyword("([A-Za-z0-9_]+::[A-Za-z0-9_]+)\\.adept[0-9]+\\(([^\n]*)\\.\\.\\.\\)[^\n]*\n"
                                    "\\s*Keyword argument ([A-Za-z0-9_]+) unknown");
    static const std::regex word("Any ([A-Za-z0-9_]+)");
    std::smatch match;
    if (std::regex_search(message, match, unknown)) return declare(match[1], {});
    bool progress = false;
    for (std::sregex_iterator at(message.begin(), message.end(), keyword), end; at != end; ++at) {
        std::string arguments = (*at)[2];
        keywords words{(*at)[3]};
        for (std::sregex_iterator w(arguments.begin(), arguments.end(), word); w != end; ++w)
            words.insert((*w)[1]);
        progress = declare((*at)[1], words) || progress;
    }
    return progress;
}

} // namespace adept
