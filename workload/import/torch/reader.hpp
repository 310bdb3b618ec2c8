/** @file reader.hpp  A file's bytes as libtorch reads them. */
#ifndef ADEPT_TORCH_READER_HPP
#define ADEPT_TORCH_READER_HPP
#include "adept_torch.h"
#include <caffe2/serialize/read_adapter_interface.h>

namespace adept
{

/** Reading from the gap leaves the caller's fresh memory untouched, so that its pages are never allocated. */
class model_reader : public caffe2::serialize::ReadAdapterInterface
{
  public:
    explicit model_reader(const adept_torch_file &file) : file_(file)
    {
    }
    size_t size() const override;
    size_t read(uint64_t pos, void *buf, size_t n, const char *what = "") const override;

  private:
    void copy(uint64_t pos, char *to, size_t n, uint64_t first, uint64_t end, const char *from) const;

    const adept_torch_file &file_;
};

} // namespace adept
#endif
