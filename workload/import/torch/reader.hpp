/** @file reader.hpp  The model file as libtorch reads it, except that weights are not read. */
#ifndef ADEPT_TORCH_READER_HPP
#define ADEPT_TORCH_READER_HPP
#include <caffe2/serialize/read_adapter_interface.h>
#include <string>
#include <utility>
#include <vector>

namespace adept
{

/** Reads of large stored tensors leave the caller's fresh memory untouched, so that its pages are never allocated: the
 *  graph needs shapes and types only. A file whose directory is not understood is simply read in full. */
class model_reader : public caffe2::serialize::ReadAdapterInterface
{
  public:
    explicit model_reader(const std::string &path); /* @throws failure */
    ~model_reader() override;
    model_reader(const model_reader &) = delete;
    model_reader &operator=(const model_reader &) = delete;

    size_t size() const override;
    size_t read(uint64_t pos, void *buf, size_t n, const char *what = "") const override;

  private:
    using range = std::pair<uint64_t, uint64_t>; /* first byte, one past the last */

    bool read_exactly(uint64_t pos, void *buf, size_t n) const;
    void find_weights();
    bool find_directory(uint64_t *offset, uint64_t *n_entries, uint64_t *n_bytes) const;
    void add_entry(const unsigned char *header, const std::string &name);

    std::string path_;
    int fd_;
    uint64_t size_ = 0;
    std::vector<range> weights_; /* sorted */
};

} // namespace adept
#endif
