/** @file catalogue.h  The workloads and GPUs that clients may name. Once loaded it never changes: any thread may
 * read it. Calls: library, model. */
#ifndef ADEPT_SERVE_CATALOGUE_H
#define ADEPT_SERVE_CATALOGUE_H
#include <adept/adept.h>
#include <stdbool.h>
#include <stddef.h>

#define ADEPT_SERVE_NAME_SIZE 128 /* of a name of either, zero included */

typedef struct adept_serve_workload {
    char *name; /* of the file, without ".profile.json", ".json" or ".pt2" */
    adept_workload *handle;
} adept_serve_workload;

typedef struct adept_serve_gpu {
    adept_gpu *handle;
    struct adept_hwprofile *hw; /* the same, with its names */
    char *json; /* the hardware profile as it stands in its file */
    size_t json_size;
} adept_serve_gpu;

typedef struct adept_serve_catalogue adept_serve_catalogue;

/** With all GPUs built in, but those of `gpu_files` in place of one of the same name. */
adept_status adept_serve_catalogue_new(adept_serve_catalogue **out, const char *const *gpu_files, size_t n_gpu_files,
                                       adept_error *err);
void adept_serve_catalogue_free(adept_serve_catalogue *c); /* NULL allowed */

/** Load a saved profile or a .pt2. @return ADEPT_E_USAGE if its name is taken or cannot be one */
adept_status adept_serve_catalogue_add(adept_serve_catalogue *c, const char *path, adept_error *err);
/** All NAME.profile.json and NAME.pt2 of a folder, in alphabetical order. @return ADEPT_E_INVALID if there is none */
adept_status adept_serve_catalogue_add_folder(adept_serve_catalogue *c, const char *path, adept_error *err);

/** NULL if there is none of that name. */
const adept_serve_workload *adept_serve_workload_find(const adept_serve_catalogue *c, const char *name);
/** Name or alias, as `--gpu` takes them. */
const adept_serve_gpu *adept_serve_gpu_find(const adept_serve_catalogue *c, const char *name);

size_t adept_serve_workload_count(const adept_serve_catalogue *c);
const adept_serve_workload *adept_serve_workload_at(const adept_serve_catalogue *c, size_t index);
/** What `adept gpus --json` prints. */
const char *adept_serve_gpus_json(const adept_serve_catalogue *c);
/** A GPU's name or a workload's that is close to what was meant; NULL if none is. */
const char *adept_serve_gpu_near(const adept_serve_catalogue *c, const char *name);
const char *adept_serve_workload_near(const adept_serve_catalogue *c, const char *name);

#endif
