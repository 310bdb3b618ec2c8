/** @file failure.hpp  The one exception of our own code; adept_torch_import turns it into a status. */
#ifndef ADEPT_TORCH_FAILURE_HPP
#define ADEPT_TORCH_FAILURE_HPP
#include "adept_torch.h"
#include <exception>
#include <string>
#include <utility>

namespace adept
{

class failure : public std::exception
{
  public:
    failure(adept_status status, std::string message) : status_(status), message_(std::move(message))
    {
    }
    adept_status status() const noexcept
    {
        return status_;
    }
    const char *what() const noexcept override
    {
        return message_.c_str();
    }

  private:
    adept_status status_;
    std::string message_;
};

/** The file breaks a rule of the format. */
[[noreturn]] inline void fail_invalid(std::string message)
{
    throw failure(ADEPT_E_INVALID, std::move(message));
}

/** The file may be fine, but its program uses something the graph cannot express. */
[[noreturn]] inline void fail_unsupported(std::string message)
{
    throw failure(ADEPT_E_UNSUPPORTED, std::move(message));
}

} // namespace adept
#endif
