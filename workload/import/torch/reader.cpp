#include "reader.hpp"
#include "failure.hpp"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace adept
{
namespace
{

/* Zip format (PKWARE APPNOTE 6.3): sizes of the fixed parts of its records. */
constexpr size_t end_bytes = 22, end64_locator_bytes = 20, end64_bytes = 56, central_bytes = 46, local_bytes = 30;
constexpr uint64_t smallest_weight_bytes = 16384; /* below a few pages nothing is gained */
constexpr uint64_t largest_directory_bytes = uint64_t{1} << 28;

uint64_t number(const unsigned char *at, int n_bytes)
{
    uint64_t v = 0;
    for (int i = n_bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

/* "resnet50/data/17": a tensor of the module tree. Constants of the program (constants/) are read: they may be sizes.
 */
bool is_weight(const std::string &name)
{
    size_t slash = name.find('/');
    return slash != std::string::npos && name.compare(slash, 6, "/data/") == 0;
}

} // namespace

model_reader::model_reader(const std::string &path) : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC))
{
    struct stat info;
    if (fd_ < 0 || fstat(fd_, &info) != 0) {
        int error = errno;
        if (fd_ >= 0) close(fd_);
        fail_invalid(std::string("cannot open: ") + std::strerror(error));
    }
    size_ = static_cast<uint64_t>(info.st_size);
    find_weights();
}

model_reader::~model_reader()
{
    close(fd_);
}

size_t model_reader::size() const
{
    return size_;
}

bool model_reader::read_exactly(uint64_t pos, void *buf, size_t n) const
{
    if (pos > size_ || n > size_ - pos) return false;
    char *at = static_cast<char *>(buf);
    while (n > 0) {
        ssize_t got = pread(fd_, at, n, static_cast<off_t>(pos));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        pos += static_cast<uint64_t>(got);
        n -= static_cast<size_t>(got);
    }
    return true;
}

size_t model_reader::read(uint64_t pos, void *buf, size_t n, const char *) const
{
    auto after = std::upper_bound(weights_.begin(), weights_.end(), range(pos, UINT64_MAX));
    if (after != weights_.begin()) {
        const range &weight = *(after - 1);
        if (pos >= weight.first && pos <= weight.second && n <= weight.second - pos) return n;
    }
    if (!read_exactly(pos, buf, n))
        fail_invalid("cannot read " + std::to_string(n) + " bytes at " + std::to_string(pos));
    return n;
}

/* ---- where the weights are ---- */

bool model_reader::find_directory(uint64_t *offset, uint64_t *n_entries, uint64_t *n_bytes) const
{
    unsigned char end[end_bytes], locator[end64_locator_bytes], end64[end64_bytes];
    if (size_ < end_bytes || !read_exactly(size_ - end_bytes, end, sizeof end) || std::memcmp(end, "PK\5\6", 4) != 0) {
        return false;
    }
    *n_entries = number(end + 10, 2);
    *n_bytes = number(end + 12, 4);
    *offset = number(end + 16, 4);
    if (size_ < end_bytes + end64_locator_bytes ||
        !read_exactly(size_ - end_bytes - end64_locator_bytes, locator, sizeof locator) ||
        std::memcmp(locator, "PK\6\7", 4) != 0) {
        return true;
    }
    if (!read_exactly(number(locator + 8, 8), end64, sizeof end64) || std::memcmp(end64, "PK\6\6", 4) != 0)
        return false;
    *n_entries = number(end64 + 32, 8);
    *n_bytes = number(end64 + 40, 8);
    *offset = number(end64 + 48, 8);
    return true;
}

/* Only entries that are stored as they are, with sizes in the 32-bit fields; others are read like any file. */
void model_reader::add_entry(const unsigned char *header, const std::string &name)
{
    uint64_t n_bytes = number(header + 20, 4), n_plain_bytes = number(header + 24, 4), at = number(header + 42, 4);
    unsigned char local[local_bytes];
    if (number(header + 10, 2) != 0 || n_bytes != n_plain_bytes || n_bytes == UINT32_MAX || at == UINT32_MAX) return;
    if (n_bytes < smallest_weight_bytes || !is_weight(name)) return;
    if (!read_exactly(at, local, sizeof local) || std::memcmp(local, "PK\3\4", 4) != 0) return;
    uint64_t first = at + local_bytes + number(local + 26, 2) + number(local + 28, 2);
    if (first <= size_ && n_bytes <= size_ - first) weights_.emplace_back(first, first + n_bytes);
}

void model_reader::find_weights()
{
    uint64_t offset, n_entries, n_bytes;
    if (!find_directory(&offset, &n_entries, &n_bytes) || n_bytes > largest_directory_bytes) return;
    std::vector<unsigned char> directory(n_bytes);
    if (!read_exactly(offset, directory.data(), directory.size())) return;
    size_t at = 0;
    for (uint64_t i = 0; i < n_entries; i++) {
        if (directory.size() - at < central_bytes || std::memcmp(&directory[at], "PK\1\2", 4) != 0) break;
        const unsigned char *header = &directory[at];
        size_t name_bytes = number(header + 28, 2);
        size_t all_bytes = central_bytes + name_bytes + number(header + 30, 2) + number(header + 32, 2);
        if (directory.size() - at < all_bytes) break;
        add_entry(header, std::string(reinterpret_cast<const char *>(header) + central_bytes, name_bytes));
        at += all_bytes;
    }
    std::sort(weights_.begin(), weights_.end());
}

} // namespace adept
