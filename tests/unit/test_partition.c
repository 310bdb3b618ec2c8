/* A rank's part of a model: parameters of all ranks add up to the model's, bytes of every collective by the closed forms of
 * docs/PARALLEL.md, kernels of a rank's own dimensions, and what cannot be split. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_partition.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LLAMA "llama-3-8b"
#define B 2.0
#define S 64.0
#define H 4096.0 /* of Llama-3-8B */
#define FF 14336.0
#define V 128256.0

static adept_profile *walk(const char *model, adept_precision precision)
{
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_error err = {0};
    adept_graph *g = NULL;
    adept_profile *p = NULL;
    adept_workload_config config = {.mode = ADEPT_MODE_TRAIN, .precision = precision, .batch_size = (int64_t)B, .seq_length = (int64_t)S};
    if (adept_models_path(path, model, &err) != ADEPT_OK || adept_import_model(&g, path, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (g->hint_seq_length == 0) config.seq_length = 0; /* of images */
    if (adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    adept_graph_free(g);
    return p;
}

static adept_mesh mesh_of(const adept_profile *p, const adept_mesh_words *words)
{
    adept_mesh mesh;
    adept_error err = {0};
    if (adept_mesh_of(&mesh, words, p, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return mesh;
}

static adept_partition split(const adept_profile *p, const adept_mesh_words *words)
{
    const adept_mesh mesh = mesh_of(p, words);
    adept_partition out;
    adept_error err = {0};
    if (adept_partition_new(&out, p, &mesh, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return out;
}

static void dump(const adept_partition *x)
{
    const adept_program *p = &x->profile->program;
    for (size_t i = 0; i < p->n_operators && x->block_of[i] < 3; i++) {
        const adept_program_operator *o = &p->operators[i];
        printf("%3zu b%d %s%s %-40s", i, x->block_of[i], x->is_core[i] ? "C" : " ", x->is_product[i] ? "P" : " ", p->kinds[o->kind].op);
        for (int k = 0; k < o->n_inputs + o->n_outputs; k++) {
            const adept_program_tensor *t = &p->tensors[p->operands[o->operands + (size_t)k]];
            printf(k == o->n_inputs ? " -> " : " ");
            for (int d = 0; d < p->shapes[t->shape].ndim; d++)
                printf("%s%lld", d ? "x" : "", (long long)p->shapes[t->shape].dims[d]);
            if (t->memory >= 0 && p->memories[t->memory].resident) printf("w");
        }
        if (o->op >= 0)
            for (size_t k = 0; k < x->ops[o->op].n_kernels; k++) {
                const adept_kernel *a = &x->ops[o->op].kernels[k], *b = &x->profile->ops[o->op].kernels[k];
                printf(" | %d:%gx%gx%gx%g of %gx%gx%gx%g, bytes /%.2f", a->pass, a->m, a->n, a->k, a->batch, b->m, b->n, b->k, b->batch,
                       (b->bytes_read + b->bytes_written) / (a->bytes_read + a->bytes_written));
            }
        printf("\n");
    }
}

/* Of all tensor parallel ranks together. */
static double params_of(const adept_partition *x, double tp)
{
    double n = 0.0;
    for (size_t b = 0; b < x->n_blocks; b++)
        n += x->blocks[b].whole_params + tp * x->blocks[b].split_params;
    return n;
}

static void parameters_add_up(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double params;
        int64_t tp[3];
    } cases[] = {{LLAMA, 8030261248.0, {2, 4, 8}}, {"gpt-2-xl", 1557611200.0, {5, 1, 25}}, {"bert-large", 0, {2, 4, 16}},
                 {"qwen3-8b", 0, {2, 4, 8}},       {"gpt-neox-20b", 0, {2, 4, 8}},         {"gemma-7b", 0, {2, 4, 8}},
                 {"phi-3-mini", 0, {2, 4, 8}},     {"opt-1.3b", 0, {2, 4, 8}},             {"mpt-7b", 0, {2, 4, 8}},
                 {"vit-l-16", 0, {2, 4, 8}},       {"t5-base", 0, {2, 3, 4}},              {"mixtral-8x7b", 0, {2, 4, 8}},
                 {"deepseek-v2-lite", 0, {2, 4, 8}}, {"nemotron-4-15b", 0, {2, 4, 8}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_profile *p = walk(cases[i].model, ADEPT_AMP_BF16);
        if (cases[i].params > 0) assert_true((double)p->params == cases[i].params);
        for (int k = 0; k < 3; k++) {
            adept_partition x = split(p, &(adept_mesh_words){.tp = cases[i].tp[k]});
            if (getenv("DUMP") && strstr(cases[i].model, getenv("DUMP")) && k == 0) dump(&x);
            printf("%s tp %d: %zu blocks, %.0f of %.0f params, %zu split %zu whole (%s)\n", cases[i].model, (int)cases[i].tp[k], x.n_blocks,
                   params_of(&x, (double)cases[i].tp[k]), (double)p->trainable_params, x.n_split, x.n_whole, x.whole ? x.whole : "");
            adept_partition_free(&x);
        }
        adept_profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
