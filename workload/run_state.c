/* What outlives a call: tensors, their memory, lists. */
#include "adept_grow.h"
#include "call.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

adept_tensor_node *adept_run_node_new(adept_run_state *run, int32_t producer)
{
    adept_tensor_node *node = adept_arena_alloc(run->arena, sizeof *node);
    if (!node) return NULL;
    node->producer = producer;
    node->tensor.param = -1;
    return node;
}

int32_t adept_run_storage_new(adept_run_state *run, double bytes, int32_t param, bool resident)
{
    if (run->n_storages == INT32_MAX) return -1;
    adept_storage *grown = adept_grow(run->storages, &run->storages_capacity, run->n_storages + 1, sizeof *grown);
    if (!grown) return -1;
    run->storages = grown;
    run->storages[run->n_storages] = (adept_storage){
        .bytes = bytes, .param = param, .last_writer = -1, .kept_by = -1, .last_change = -1, .resident = resident};
    return (int32_t)run->n_storages++;
}

void adept_run_state_free(adept_run_state *run)
{
    free(run->storages);
    run->storages = NULL;
    run->n_storages = run->storages_capacity = 0;
}

adept_list *adept_run_list_new(adept_run_state *run, size_t n, const adept_value *items)
{
    adept_list *list = adept_arena_alloc(run->arena, sizeof *list);
    adept_value *copy = adept_arena_array(run->arena, n + 1, sizeof *copy);
    if (!list || !copy) return NULL;
    if (items && n) memcpy(copy, items, n * sizeof *copy);
    *list = (adept_list){copy, n, n + 1};
    return list;
}

adept_tensor *adept_run_tensor_new(adept_run_state *run, adept_dtype dtype, int ndim, const int64_t *dims,
                                   int32_t producer)
{
    if (!adept_shape_valid(dtype, ndim, dims, 0)) return NULL;
    adept_tensor_node *node = adept_run_node_new(run, producer);
    if (!node) return NULL;
    adept_tensor *t = &node->tensor;
    t->dtype = dtype;
    t->ndim = ndim;
    memcpy(t->dims, dims, (size_t)ndim * sizeof *dims);
    adept_strides_contiguous(ndim, t->dims, t->strides);
    t->storage = adept_run_storage_new(run, adept_tensor_bytes(t), -1, false);
    return t->storage < 0 ? NULL : t;
}

static double as_stored(adept_dtype dtype, double value)
{
    if (dtype == ADEPT_BOOL) return value != 0;
    return adept_dtype_is_integer(dtype) ? trunc(value) : dtype == ADEPT_F32 ? (double)(float)value : value;
}

bool adept_run_set_values(adept_run_state *run, adept_tensor *t, int n, const double *values)
{
    double *copy = adept_arena_array(run->arena, (size_t)n, sizeof *copy);
    if (!copy) return false;
    for (int i = 0; i < n; i++)
        copy[i] = as_stored(t->dtype, values[i]);
    t->spread = ADEPT_UNLIKE;
    t->values = copy;
    t->n_values = n;
    return true;
}

bool adept_run_set_spread(adept_run_state *run, adept_tensor *t, adept_spread spread, double each)
{
    double values[ADEPT_MAX_KNOWN_VALUES];
    int64_t n = adept_tensor_numel(t);
    t->spread = spread;
    t->each = as_stored(t->dtype, each);
    if (spread != ADEPT_ALIKE || n < 1 || n > ADEPT_MAX_KNOWN_VALUES) return true;
    for (int i = 0; i < n; i++)
        values[i] = each;
    return adept_run_set_values(run, t, (int)n, values);
}

void adept_run_make_sparse(adept_run_state *run, adept_tensor *t, adept_sparse sparse, int64_t stored)
{
    t->sparse = sparse;
    t->stored = stored;
    run->storages[t->storage].bytes = adept_tensor_bytes(t);
}

int32_t adept_tensor_producer(const adept_tensor *t)
{
    return ((const adept_tensor_node *)t)->producer;
}
