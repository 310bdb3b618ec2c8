#include "schemas.hpp"
#include <algorithm>
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

/* How many results the first call has, by the line of the program above the mark: "a, b = ops.mylib.least(x, 0)" two,
 * and "a, b, = ops.mylib.split(x)" one list. */
std::string results_in(const std::string &message)
{
    constexpr std::ptrdiff_t most = 64;
    static const std::regex line_of_call(
        "\n[ \t]*([A-Za-z_][A-Za-z0-9_]*(?:, [A-Za-z_][A-Za-z0-9_]*)*)(,?) = [^\n]*\n[ ]*~+ <--- HERE");
    size_t mark = message.find("<--- HERE"), begin = mark;
    for (int line = 0; line < 2 && begin != std::string::npos && begin > 0; line++)
        begin = message.rfind('\n', begin - 1);
    std::smatch match;
    if (begin == std::string::npos || mark - begin > 65536) return "Tensor";
    std::string excerpt = message.substr(begin, mark + 9 - begin);
    if (!std::regex_search(excerpt, match, line_of_call)) return "Tensor";
    if (match[2].length() > 0) return "Tensor[]";
    const std::string names = match[1];
    std::ptrdiff_t n = std::count(names.begin(), names.end(), ',') + 1;
    if (n == 1 || n > most) return "Tensor";
    std::string results = "(Tensor";
    for (std::ptrdiff_t i = 1; i < n; i++)
        results += ", Tensor";
    return results + ")";
}

/* Any positional arguments, exactly these keywords, tensors out: enough to load the file and to name the operator.
 * (A schema with "..." may have no defaults, so every set of keywords in use is an overload.) */
bool unknown_operators::declare(const std::string &name, const keywords &words)
{
    constexpr size_t most = 200; /* rounds of loading; a real file uses a handful of foreign operators */
    if (declared_.size() >= most || !declared_.emplace(name, words).second) return false;
    std::string schema = name + ".adept" + std::to_string(declared_.size()) + "(";
    if (!words.empty()) schema += "*, ";
    for (const std::string &word : words)
        schema += "Any " + word + ", ";
    schema += "...) -> " + results_[name];
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
    if (std::regex_search(message, match, unknown)) {
        results_.emplace(match[1], results_in(message));
        return declare(match[1], {});
    }
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

std::string unknown_operators::names() const
{
    std::string names;
    for (const auto &entry : results_)
        if (names.size() < 300) names += (names.empty() ? "" : ", ") + entry.first;
    return names;
}

} // namespace adept
