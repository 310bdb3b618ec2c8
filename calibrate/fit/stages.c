/** @file stages.c  The stages of table 4.2; see fit_parts.h. */
#include "fit_parts.h"
#include <string.h>

/* The thesis binds three scalars to ALBERT, whose layers share their weights. */
static const adept_scalar albert_gemm = {"albert_gemm", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_GEMM, 1.0};
static const adept_scalar albert_alu = {"albert_alu", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_ALU, 1.0};
static const adept_scalar albert_mem = {"albert_mem", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_MEM, 1.0};

static const adept_stage stages[] = {
    {"S1", "everything but the scalars below", NULL, NULL},
    {"S2", "matrix products of albert*", "albert_gemm", &albert_gemm},
    {"S3", "other arithmetic of albert*", "albert_alu", &albert_alu},
    {"S4", "memory traffic of albert*", "albert_mem", &albert_mem},
    {"S5", "matrix products in bf16 and fp16", "c_gemm_lowp", NULL},
    {"S6", "convolutions in bf16 and fp16", "c_conv_lowp", NULL},
    {"S7", "other arithmetic in bf16 and fp16", "c_alu_lowp", NULL},
};
#define N_STAGES (sizeof stages / sizeof stages[0])

const adept_stage *adept_stage_at(size_t index)
{
    return index < N_STAGES ? &stages[index] : NULL;
}

bool adept_fit_stage(size_t index, const char **name, const char **adds)
{
    if (index >= N_STAGES) return false;
    *name = stages[index].name;
    *adds = stages[index].adds;
    return true;
}

adept_status adept_stage_find(size_t *index, const char *name, adept_error *err)
{
    for (size_t i = 0; i < N_STAGES; i++) {
        if (strcmp(stages[i].name, name) != 0) continue;
        *index = i;
        return ADEPT_OK;
    }
    return adept_error_set(err, ADEPT_E_USAGE, "there is no stage \"%s\": the stages are %s to %s", name,
                           stages[0].name, stages[N_STAGES - 1].name);
}

size_t adept_stage_of(const char *parameter)
{
    for (size_t i = 0; i < N_STAGES; i++)
        if (stages[i].frees && strcmp(stages[i].frees, parameter) == 0) return i;
    return 0;
}
