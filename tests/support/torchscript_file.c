#include "torchscript_file.h"
#include "import_private.h"
#include <dlfcn.h>
#include <stdlib.h>

void test_torchscript_inherit(void)
{
    if (getenv("ADEPT_TORCH_MODULE")) (void)dlopen("libtorch_cpu.so", RTLD_LAZY);
}

adept_status test_torchscript_check(const char *path, bool trust, adept_error *err)
{
    adept_source source;
    adept_status status = adept_source_open(&source, path, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    status = adept_torchscript_check(NULL, &source, trust, err);
    adept_source_close(&source);
    return status;
}

adept_status test_torchscript_load(adept_graph **out, const char *path, const adept_import_options *options,
                                   adept_error *err)
{
    adept_source source;
    adept_torch_pack pack = {.n_entries = 0};
    adept_status status = adept_source_open(&source, path, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    if (options->memory_bytes > 0) source.memory_bytes = options->memory_bytes;
    status = adept_torchscript_check(&pack, &source, options->trust, err);
    if (status == ADEPT_OK) status = adept_torchscript_load(out, &source, &pack, options, err);
    adept_torch_pack_free(&pack);
    adept_source_close(&source);
    return status;
}

adept_status test_torchscript_hints(adept_graph *graph, const char *path, adept_error *err)
{
    adept_source source;
    adept_status status = adept_source_open(&source, path, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    status = adept_torchscript_hints(graph, &source, err);
    adept_source_close(&source);
    return status;
}
