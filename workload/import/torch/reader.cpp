#include "reader.hpp"
#include "failure.hpp"
#include <algorithm>
#include <cstring>

namespace adept
{

size_t model_reader::size() const
{
    return file_.n_bytes + file_.gap_bytes;
}

/* What of [first, end), whose bytes lie at `from`, is wanted. */
void model_reader::copy(uint64_t pos, char *to, size_t n, uint64_t first, uint64_t end, const char *from) const
{
    uint64_t begin = std::max(pos, first), stop = std::min(pos + n, end);
    if (begin < stop) std::memcpy(to + (begin - pos), from + (begin - first), stop - begin);
}

size_t model_reader::read(uint64_t pos, void *buf, size_t n, const char *) const
{
    if (pos > size() || n > size() - pos)
        fail_invalid("cannot read " + std::to_string(n) + " bytes at " + std::to_string(pos));
    char *to = static_cast<char *>(buf);
    copy(pos, to, n, 0, file_.gap_at, file_.bytes);
    copy(pos, to, n, file_.gap_at + file_.gap_bytes, size(), file_.bytes + file_.gap_at);
    return n;
}

} // namespace adept
