/** @file schemas.hpp  Operators that this libtorch does not know, declared so that files of newer versions load. */
#ifndef ADEPT_TORCH_SCHEMAS_HPP
#define ADEPT_TORCH_SCHEMAS_HPP
#include <map>
#include <set>
#include <string>
#include <utility>

namespace adept
{

/** Declare what PyTorch 2.x added to the operators of 1.13; what is there already is left alone. Callable repeatedly.
 */
void declare_newer_operators();

/** Declares whatever an error of the loader names as unknown: the next try then gets further, and the operator
 *  appears in the graph, where it is reported together with all others that are not supported. */
class unknown_operators
{
  public:
    /** @return false if the message is about something else, or the same thing as before */
    bool declare_from(const std::string &message);
    /** "mylib::a, mylib::b": those that were declared. */
    std::string names() const;

  private:
    using keywords = std::set<std::string>;
    bool declare(const std::string &name, const keywords &words);

    std::set<std::pair<std::string, keywords>> declared_;
    std::map<std::string, std::string> results_; /* by name: "Tensor", "(Tensor, Tensor)" */
};

} // namespace adept
#endif
