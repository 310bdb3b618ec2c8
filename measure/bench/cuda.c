/** @file cuda.c  NVIDIA's driver, libcuda.so.1, opened at run time. Functions and numbers are those of NVIDIA's cuda.h,
 * which is not needed to build. The driver compiles the kernels of ptx.c for the board that is there. */
#include "passes.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 256u /* threads of one */

/* X(field, symbol, arguments) */
#define CUDA_LIST(X)                                                                                                   \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(count, "cuDeviceGetCount", (int *n))                                                                             \
    X(select, "cuDeviceGet", (int *device, int index))                                                                 \
    X(name, "cuDeviceGetName", (char *text, int size, int device))                                                     \
    X(bus, "cuDeviceGetPCIBusId", (char *text, int size, int device))                                                  \
    X(retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                                \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                           \
    X(use, "cuCtxSetCurrent", (void *context))                                                                         \
    X(wait, "cuCtxSynchronize", (void))                                                                                \
    X(load, "cuModuleLoadData", (void **module, const void *image))                                                    \
    X(unload, "cuModuleUnload", (void *module))                                                                        \
    X(function, "cuModuleGetFunction", (void **function, void *module, const char *name))                              \
    X(allocate, "cuMemAlloc_v2", (uint64_t * address, size_t bytes))                                                   \
    X(free, "cuMemFree_v2", (uint64_t address))                                                                        \
    X(put, "cuMemcpyHtoD_v2", (uint64_t address, const void *from, size_t bytes))                                      \
    X(get, "cuMemcpyDtoH_v2", (void *to, uint64_t address, size_t bytes))                                              \
    X(launch, "cuLaunchKernel",                                                                                        \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
       unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra))                         \
    X(text, "cuGetErrorString", (int status, const char **text))

struct adept_bench_gpu {
    void *library, *context, *module;
    int device;
    char shown[160];
#define X(field, symbol, arguments) int(*field) arguments;
    CUDA_LIST(X)
#undef X
};

static adept_status check(const adept_bench_gpu *g, const char *what, int status, adept_error *err)
{
    const char *text = NULL;

    if (status == 0) return ADEPT_OK;
    if (g->text(status, &text) || !text) text = "unknown error";
    return adept_error_set(err, ADEPT_E_IO, "gpu: %s: %s (status %d of NVIDIA's driver)", what, text, status);
}

static adept_status open_library(adept_bench_gpu *g, adept_error *err)
{
    /* "secure_": as measure/nvml.c has it. */
    const char *name = secure_getenv("ADEPT_CUDA_LIBRARY"), *missing = NULL;

    g->library = dlopen(name && name[0] ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!g->library) return adept_error_set(err, ADEPT_E_IO, "gpu: NVIDIA's driver: %s", dlerror());
#define X(field, symbol, arguments)                                                                                    \
    g->field = (int(*) arguments)dlsym(g->library, symbol);                                                            \
    if (!g->field) missing = symbol;
    CUDA_LIST(X)
#undef X
    return missing ? adept_error_set(err, ADEPT_E_IO, "gpu: NVIDIA's driver has no %s", missing) : ADEPT_OK;
}

adept_status adept_bench_gpu_open(adept_bench_gpu **out, adept_error *err)
{
    adept_bench_gpu *g = calloc(1, sizeof *g);

    if (!g) return adept_no_memory(err, "a GPU");
    adept_status status = open_library(g, err);
    if (status == ADEPT_OK) {
        char name[96] = "", bus[32] = "";
        int n = 0;
        status = check(g, "cuInit", g->init(0), err);
        if (status == ADEPT_OK) status = check(g, "cuDeviceGetCount", g->count(&n), err);
        if (status == ADEPT_OK && n == 0)
            status = adept_error_set(err, ADEPT_E_IO, "gpu: NVIDIA's driver shows no GPU");
        if (status == ADEPT_OK) status = check(g, "cuDeviceGet", g->select(&g->device, 0), err);
        if (status == ADEPT_OK) status = check(g, "cuDeviceGetName", g->name(name, sizeof name, g->device), err);
        if (status == ADEPT_OK) status = check(g, "cuDeviceGetPCIBusId", g->bus(bus, sizeof bus, g->device), err);
        if (status == ADEPT_OK) status = check(g, "cuDevicePrimaryCtxRetain", g->retain(&g->context, g->device), err);
        if (status == ADEPT_OK) status = check(g, "cuCtxSetCurrent", g->use(g->context), err);
        if (status == ADEPT_OK) status = check(g, "cuModuleLoadData", g->load(&g->module, adept_bench_ptx), err);
        snprintf(g->shown, sizeof g->shown, "%s %s", name, bus);
    }
    if (status == ADEPT_OK)
        *out = g;
    else
        adept_bench_gpu_close(g);
    return status;
}

const char *adept_bench_gpu_name(const adept_bench_gpu *g)
{
    return g->shown;
}

void adept_bench_gpu_close(adept_bench_gpu *g)
{
    if (!g) return;
    if (g->module) g->unload(g->module);
    if (g->context) g->release(g->device);
    if (g->library) dlclose(g->library);
    free(g);
}

/* ---------------------------------------------------------------- a kernel on it --------------------------------- */

struct adept_bench_copy {
    adept_bench_gpu *gpu;
    void *function;
    uint64_t a, b, c, columns;
    size_t bytes_c;
    uint32_t n, threads;
    const char *name;
};

static adept_status put(const adept_bench_gpu *g, uint64_t *address, const void *from, size_t bytes, adept_error *err)
{
    adept_status status = bytes > 0 ? check(g, "cuMemAlloc", g->allocate(address, bytes), err) : ADEPT_OK;

    if (status != ADEPT_OK || bytes == 0) return status;
    return check(g, "cuMemcpyHtoD", g->put(*address, from, bytes), err);
}

adept_status adept_bench_copy_new(adept_bench_copy **out, adept_bench_gpu *g, const char *name, uint32_t threads,
                                  const adept_bench_data *d, adept_error *err)
{
    adept_bench_copy *copy = calloc(1, sizeof *copy);

    if (!copy) return adept_no_memory(err, "a bench");
    *copy = (adept_bench_copy){.gpu = g, .bytes_c = d->n_c * sizeof *d->c, .n = d->n, .name = name, .threads = threads};
    adept_status status = check(g, copy->name, g->function(&copy->function, g->module, copy->name), err);
    if (status == ADEPT_OK) status = put(g, &copy->a, d->a, d->n_a * sizeof *d->a, err);
    if (status == ADEPT_OK) status = put(g, &copy->b, d->b, d->n_b * sizeof *d->b, err);
    if (status == ADEPT_OK) status = put(g, &copy->c, d->c, copy->bytes_c, err);
    if (status == ADEPT_OK) status = put(g, &copy->columns, d->columns, d->n_columns * sizeof *d->columns, err);
    if (status == ADEPT_OK)
        *out = copy;
    else
        adept_bench_copy_free(copy);
    return status;
}

adept_status adept_bench_copy_run(adept_bench_copy *copy, int64_t passes, adept_error *err)
{
    const adept_bench_gpu *g = copy->gpu;
    void *arguments[] = {&copy->a, &copy->b, &copy->c, &copy->columns, &copy->n, &copy->threads};
    unsigned blocks = (copy->threads + BLOCK - 1) / BLOCK;
    adept_status status = ADEPT_OK;

    for (int64_t i = 0; i < passes && status == ADEPT_OK; i++)
        status =
            check(g, copy->name, g->launch(copy->function, blocks, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL), err);
    return status == ADEPT_OK ? check(g, copy->name, g->wait(), err) : status;
}

adept_status adept_bench_copy_result(adept_bench_copy *copy, float *c, adept_error *err)
{
    return check(copy->gpu, "cuMemcpyDtoH", copy->gpu->get(c, copy->c, copy->bytes_c), err);
}

void adept_bench_copy_free(adept_bench_copy *copy)
{
    if (!copy) return;
    const uint64_t addresses[] = {copy->a, copy->b, copy->c, copy->columns};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        if (addresses[i]) copy->gpu->free(addresses[i]);
    free(copy);
}
