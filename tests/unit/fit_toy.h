/** @file fit_toy.h  Measured rows for tests of the fit's report: a CSV in memory on toy workloads, no file is read. */
#ifndef FIT_TOY_H
#define FIT_TOY_H
#include "cmocka_test.h"
#include "adept_measurements.h"
#include "toy_model.h"

/** Rows of CSV text, first line the header. They have no profile yet. */
static inline adept_dataset *toy_dataset(const char *csv)
{
    adept_error err = {0};
    adept_dataset *d = adept_dataset_new();
    assert_non_null(d);
    if (adept_dataset_parse(d, "toy.csv", csv, strlen(csv), &err) != ADEPT_OK) fail_msg("%s", err.message);
    return d;
}

#define TOY_N_WORKS 6

/** Workloads unlike each other: the toy's FLOPs and bytes scaled, in the last three also its GEMMs against the rest. */
typedef struct toy_world {
    toy_gpu gpu;
    toy_work works[TOY_N_WORKS];
} toy_world;

static inline void toy_world_init(toy_world *world)
{
    static const double flops[TOY_N_WORKS] = {1, 0.3, 4, 0.05, 2, 0.6}, bytes[TOY_N_WORKS] = {1, 2, 0.5, 0.3, 4, 0.1};
    static const double gemm[TOY_N_WORKS] = {1, 1, 1, 3, 0.2, 9};
    static const char *const paths[TOY_N_WORKS] = {"m0.pt", "m1.pt", "m2.pt", "m3.pt", "m4.pt", "m5.pt"};
    toy_gpu_init(&world->gpu);
    for (int i = 0; i < TOY_N_WORKS; i++) {
        toy_work_init(&world->works[i]);
        world->works[i].prof.model_path = paths[i];
        world->works[i].kernels[0].flops *= gemm[i];
        world->works[i].kernels[1].flops *= gemm[i];
        toy_work_scale(&world->works[i], flops[i], bytes[i]);
    }
}

/** The row's model "m0" ... "m5" is works[0] ... works[5]. */
static inline void toy_world_join(const toy_world *world, adept_dataset *d)
{
    for (size_t i = 0; i < d->n; i++) {
        adept_dataset_row *m = &d->rows[i];
        m->profile = &world->works[m->model[1] - '0'].prof;
        m->hw = &world->gpu.hw;
    }
}

#endif
