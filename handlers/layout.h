/** @file layout.h  Sizes and strides of a view, and the elements a small view sees. Calls: workload. */
#ifndef ADEPT_LAYOUT_H
#define ADEPT_LAYOUT_H
#include "adept_handler.h"

typedef struct adept_layout {
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS];
    int64_t strides[ADEPT_MAX_DIMS]; /* in elements */
    int64_t offset;                  /* of the first element */
} adept_layout;

/** Changes a layout as the call's arguments say; fails the call if they do not fit it. */
typedef void adept_layout_change(adept_call *c, adept_layout *layout);

adept_layout adept_layout_of(const adept_tensor *t);
/** The call's next output: a view of base changed by `change`, with the known elements it sees. Never NULL. */
adept_tensor *adept_layout_out(adept_call *c, const adept_tensor *base, adept_layout_change *change);
/** The same as a tensor for a list of outputs: `layout` is the view's, `row_major` what it would be were base
 * row-major. */
adept_tensor *adept_layout_new(adept_call *c, const adept_tensor *base, const adept_layout *layout,
                               const adept_layout *row_major);
/** Were base row-major. */
adept_layout adept_layout_row_major(const adept_tensor *base);

/** Keep `length` elements from `start`, one in `step`, of a dimension. All in range. */
void adept_layout_narrow(adept_layout *l, int dim, int64_t start, int64_t length, int64_t step);
void adept_layout_remove(adept_layout *l, int dim); /* at index 0 */
/** Insert a dimension; fails the call if there are too many. */
void adept_layout_insert(adept_call *c, adept_layout *l, int dim, int64_t size, int64_t stride);
/** Repeat dimensions of size 1 and new leading ones (expand); -1 keeps a size. */
void adept_layout_expand(adept_call *c, adept_layout *l, int ndim, const int64_t *sizes);

/** The dimension that an argument names; below 0 it counts from the end. */
int adept_layout_dim(adept_call *c, const char *name, int64_t fallback, const adept_layout *l);

/** The part that the call's arguments "dim" and "index", ... say; as_strided within the memory of its tensor "self". */
adept_layout_change adept_layout_select, adept_layout_slice, adept_layout_diagonal, adept_layout_as_strided;

/** Strides that show the elements of `from` with other sizes, in the same order; false if that takes a copy. */
bool adept_layout_reshape(const adept_layout *from, int ndim, const int64_t *dims, int64_t *strides);
/** Replace the one -1 in dims so that they multiply to numel; fails the call if they cannot. */
void adept_layout_infer(adept_call *c, int64_t numel, int ndim, int64_t *dims);

/* Memory formats as PyTorch numbers them. */
enum { ADEPT_FORMAT_ROW_MAJOR, ADEPT_FORMAT_PRESERVE, ADEPT_FORMAT_CHANNELS_LAST, ADEPT_FORMAT_CHANNELS_LAST_3D };
/** Is the tensor dense in that order? A format that does not go with its number of dimensions counts as row-major. */
bool adept_layout_has_format(const adept_tensor *t, int64_t format);
/** The argument memory_format of an operator that lays its result out anew. */
int64_t adept_layout_format(adept_call *c, int64_t fallback);
/** Order the memory of a new tensor; ADEPT_FORMAT_PRESERVE takes the order of `like`. */
void adept_layout_set_format(adept_tensor *out, int64_t format, const adept_tensor *like);
#endif
