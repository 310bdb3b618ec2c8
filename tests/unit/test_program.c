/* The program of a profile, by hand: order, tensors and their uses, memory, repeats, shard words. */
#include "graph_profile.h"
#include <stdio.h>
#include <stdlib.h>

static void has_operator(const adept_profile *profile, size_t at, const char *op, size_t n_inputs, size_t n_outputs,
                         const int32_t *operands)
{
    const adept_program *p = &profile->program;
    assert_in_range(at, 0, p->n_operators - 1);
    const adept_program_operator *o = &p->operators[at];
    assert_string_equal(p->kinds[o->kind].op, op);
    assert_int_equal(o->n_inputs, n_inputs);
    assert_int_equal(o->n_outputs, n_outputs);
    assert_memory_equal(&p->operands[o->operands], operands, (n_inputs + n_outputs) * sizeof *operands);
    if (o->op >= 0) assert_string_equal(profile->ops[o->op].op, op);
}

static void has_tensor(const adept_profile *profile, size_t number, const char *dims, double bytes, int32_t first,
                       int32_t last)
{
    const adept_program *p = &profile->program;
    assert_in_range(number, 0, p->n_tensors - 1);
    const adept_program_tensor *t = &p->tensors[number];
    const adept_program_shape *s = &p->shapes[t->shape];
    adept_tensor printed = {.dtype = s->dtype, .ndim = s->ndim};
    char text[200];
    memcpy(printed.dims, s->dims, (size_t)s->ndim * sizeof *s->dims);
    assert_string_equal(adept_tensor_print(&printed, text, sizeof text), dims);
    assert_true(t->bytes == bytes);
    assert_int_equal(t->first, first);
    assert_int_equal(t->last, last);
}

static void has_memory(const adept_profile *profile, size_t of_tensor, double bytes, int32_t param, int32_t first,
                       int32_t last, int32_t kept_by)
{
    const adept_program *p = &profile->program;
    const adept_program_memory *m = &p->memories[p->tensors[of_tensor].memory];
    assert_true(m->bytes == bytes);
    assert_int_equal(m->param, param);
    assert_int_equal(m->first, first);
    assert_int_equal(m->last, last);
    assert_int_equal(m->kept_by, kept_by);
    assert_int_equal(m->resident, param >= 0);
}

static void has_alive(const adept_profile *profile, size_t n, const double *bytes)
{
    double alive_bytes[16];
    assert_int_equal(profile->program.n_operators, n);
    adept_profile_alive(alive_bytes, profile);
    for (size_t i = 0; i < n; i++)
        if (alive_bytes[i] != bytes[i]) fail_msg("operator %zu: %g bytes, by hand %g", i, alive_bytes[i], bytes[i]);
}

static const char mlp[] = "input x f32:2x4\n"
                          "param w1 f32:8x4 grad\n"
                          "param w2 f32:3x8 grad\n"
                          "h = aten::linear(input=x, weight=w1, bias=none) @ fc1 Linear\n"
                          "a = aten::relu_(self=h) @ act ReLU\n"
                          "y = aten::linear(input=a, weight=w2, bias=none) @ fc2 Linear\n"
                          "return y\n";

static void a_small_mlp(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with(mlp, &config);
    assert_int_equal(p->program.n_operators, 3);
    assert_int_equal(p->program.n_tensors, 6);
    assert_int_equal(p->program.n_memories, 5);
    assert_int_equal(p->program.n_shapes, 5); /* h and a have the same */
    has_operator(p, 0, "aten::linear", 2, 1, (int32_t[]){0, 1, 2});
    has_operator(p, 1, "aten::relu", 1, 1, (int32_t[]){2, 3});
    has_operator(p, 2, "aten::linear", 2, 1, (int32_t[]){3, 4, 5});
    has_tensor(p, 0, "f32:2x4", 32, 0, 0);
    has_tensor(p, 1, "f32:8x4", 128, 0, 0);
    has_tensor(p, 2, "f32:2x8", 64, 0, 1);
    has_tensor(p, 3, "f32:2x8", 64, 1, 2);
    has_tensor(p, 4, "f32:3x8", 96, 2, 2);
    has_tensor(p, 5, "f32:2x3", 24, 2, 3); /* the model returns it */
    assert_int_equal(p->program.tensors[2].memory, p->program.tensors[3].memory);
    has_memory(p, 0, 32, -1, 0, 0, 0); /* the first linear needs x for the gradient of w1 */
    has_memory(p, 1, 128, 0, 0, 0, -1);
    has_memory(p, 3, 64, -1, 0, 2, 1); /* relu_ keeps its result, before the second linear would */
    has_memory(p, 4, 96, 1, 2, 2, -1);
    has_memory(p, 5, 24, -1, 2, 3, -1);
    has_alive(p, 3, (double[]){32 + 64, 32 + 64, 32 + 64 + 24});
    assert_int_equal(p->program.n_gradients, 2);
    assert_true(p->program.gradients[0].at == 0 && p->program.gradients[0].bytes == 128);
    assert_true(p->program.gradients[1].at == 2 && p->program.gradients[1].bytes == 96);
    adept_profile_free(p);

    config.mode = ADEPT_MODE_INFER;
    p = build_with(mlp, &config);
    has_memory(p, 3, 64, -1, 0, 2, -1);
    has_alive(p, 3, (double[]){32 + 64, 64, 64 + 24}); /* x is free after the first */
    assert_int_equal(p->program.n_gradients, 0);
    adept_profile_free(p);
}

/* p = x w0; y = gelu(p w1) + p: the gradients of both uses of p meet behind its linear. */
static void a_residual_block(void **state)
{
    (void)state;
    static const char text[] = "input x f32:2x4\n"
                               "param w0 f32:4x4 grad\n"
                               "param w1 f32:4x4 grad\n"
                               "p = aten::linear(input=x, weight=w0, bias=none) @ in Linear\n"
                               "v = aten::view(self=p, size=[1, 2, 4]) @ in Linear\n"
                               "h = aten::linear(input=p, weight=w1, bias=none) @ fc Linear\n"
                               "a = aten::gelu(self=h) @ act GELU\n"
                               "y = aten::add(self=a, other=v, alpha=1)\n"
                               "return y\n";
    adept_workload_config config = {0};
    adept_profile *p = build_with(text, &config);
    has_operator(p, 0, "aten::linear", 2, 1, (int32_t[]){0, 1, 2});
    has_operator(p, 1, "autograd::accumulate", 1, 0, (int32_t[]){2});
    has_operator(p, 2, "aten::view", 1, 1, (int32_t[]){2, 3});
    has_operator(p, 3, "aten::linear", 2, 1, (int32_t[]){2, 4, 5});
    has_operator(p, 4, "aten::gelu", 1, 1, (int32_t[]){5, 6});
    has_operator(p, 5, "aten::add", 2, 1, (int32_t[]){6, 3, 7});
    assert_int_equal(p->program.operators[2].op, -1);
    has_tensor(p, 2, "f32:2x4", 32, 0, 3);
    has_tensor(p, 3, "f32:1x2x4", 32, 2, 5);
    has_memory(p, 2, 32, -1, 0, 5, 3); /* through its view until the sum; the second linear keeps it */
    has_memory(p, 6, 32, -1, 4, 5, -1);
    /* x, p; h, which gelu keeps; a; y */
    has_alive(p, 6, (double[]){64, 64, 64, 64 + 32, 96 + 32, 128 + 32});
    adept_profile_free(p);

    config.mode = ADEPT_MODE_INFER;
    p = build_with(text, &config);
    assert_int_equal(p->program.n_operators, 5);     /* no gradients meet */
    has_alive(p, 5, (double[]){64, 32, 64, 96, 96}); /* x goes, h goes: p, a and y at the end */
    adept_profile_free(p);
}

static char *layers(int n, char *text, const char *before, const char *behind)
{
    strcpy(text, "input x0 f32:2x4\n");
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text), "param w%d f32:4x4 grad\n", i);
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text),
                "h%d = aten::linear(input=x%d, weight=w%d, bias=none) @ layers.%d.fc Linear\n"
                "x%d = aten::gelu(self=h%d) @ %s%d%s GELU\n",
                i, i, i, i, i + 1, i, before, i, behind);
    sprintf(text + strlen(text), "return x%d\n", n);
    return text;
}

static void layers_are_folded(void **state)
{
    (void)state;
    char text[4000];
    adept_workload_config config = {.mode = ADEPT_MODE_INFER};
    adept_profile *p = build_with(layers(12, text, "layers.", ".act"), &config);
    assert_int_equal(p->program.n_operators, 24);
    assert_int_equal(p->program.n_repeats, 1);
    assert_memory_equal(p->program.repeats, (&(adept_program_repeat){0, 2, 12, 3}), sizeof *p->program.repeats);
    adept_profile_free(p);
    /* in training the first linear is another operator: it has no input gradient; from the first gelu on */
    config.mode = ADEPT_MODE_TRAIN;
    p = build_with(layers(12, text, "layers.", ".act"), &config);
    assert_int_equal(p->program.n_repeats, 1);
    assert_memory_equal(p->program.repeats, (&(adept_program_repeat){1, 2, 11, 3}), sizeof *p->program.repeats);
    adept_profile_free(p);
    /* entries of ops that differ in their path alone: merging folds no index at the end of one */
    config.mode = ADEPT_MODE_INFER;
    p = build_with(layers(12, text, "block_", ""), &config);
    assert_int_equal(p->n_ops, 13);
    assert_int_equal(p->program.n_repeats, 1);
    assert_memory_equal(p->program.repeats, (&(adept_program_repeat){0, 2, 12, 3}), sizeof *p->program.repeats);
    adept_profile_free(p);
    /* a layer that reads another tensor than the one before it ends the repeat */
    char *other = strstr(layers(12, text, "layers.", ".act"), "input=x6");
    memcpy(other, "input=x2", 8);
    p = build_with(text, &config);
    assert_int_equal(p->program.n_repeats, 2);
    assert_memory_equal(&p->program.repeats[0], (&(adept_program_repeat){0, 2, 6, 3}), sizeof *p->program.repeats);
    assert_int_equal(p->program.repeats[1].times, 5);
    adept_profile_free(p);
}

static void has_shard(const adept_profile *p, const char *op, const char *word)
{
    for (size_t i = 0; i < p->program.n_kinds; i++)
        if (strcmp(p->program.kinds[i].op, op) == 0) {
            assert_string_equal(adept_shard_word_name(p->program.kinds[i].shard), word);
            return;
        }
    fail_msg("no %s", op);
}

static void operators_have_shard_words(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input i i64:2x5\n"
                                  "input image f32:2x3x8x8\n"
                                  "param table f32:10x8 grad\n"
                                  "param w f32:8x8 grad\n"
                                  "param g f32:8 grad\n"
                                  "param c f32:4x3x3x3 grad\n"
                                  "x = aten::embedding(weight=table, indices=i)\n"
                                  "n = aten::layer_norm(input=x, normalized_shape=[8], weight=g, bias=none)\n"
                                  "l = aten::linear(input=n, weight=w, bias=none)\n"
                                  "h = aten::reshape(self=l, shape=[2, 5, 2, 4])\n"
                                  "q = aten::transpose(self=h, dim0=1, dim1=2)\n"
                                  "a = aten::scaled_dot_product_attention(query=q, key=q, value=q)\n"
                                  "u = aten::gelu(self=a)\n"
                                  "v = aten::var(self=u, dim=[3])\n"
                                  "s = aten::sum(self=u)\n"
                                  "f = aten::conv2d(input=image, weight=c, bias=none)\n"
                                  "o = aten::zeros(size=[2, 2])\n"
                                  "k = aten::zeros_like(self=o)\n"
                                  "z = aten::nonzero(self=o)\n"
                                  "return s, f, z, v, k\n",
                                  &config);
    has_shard(p, "aten::embedding", "columns");
    has_shard(p, "aten::layer_norm", "rows");
    has_shard(p, "aten::linear", "columns");
    has_shard(p, "aten::reshape", "view");
    has_shard(p, "aten::transpose", "view");
    has_shard(p, "aten::scaled_dot_product_attention", "heads");
    has_shard(p, "aten::gelu", "elementwise");
    has_shard(p, "aten::var", "rows"); /* no sum of parts, unlike the sum */
    has_shard(p, "aten::sum", "reduced");
    has_shard(p, "aten::conv2d", "batch");
    has_shard(p, "aten::zeros", "replicate");
    has_shard(p, "aten::zeros_like", "elementwise");
    has_shard(p, "aten::nonzero", "unknown");
    has_shard(p, "autograd::accumulate", "elementwise");
    adept_profile_free(p);
}

/* Whoever adds an operator says how it may be split, or adds its kind to those of which nobody has. */
static void kinds_without_a_shard_word_are_listed(void **state)
{
    (void)state;
    static const char listed[] = " chosen detection distance index matrix scatter sparse statistics ";
    for (const adept_handler *const *h = adept_handlers()->handlers; *h; h++)
        for (const adept_op *op = (*h)->ops; op->names && (*h)->cost; op++) {
            char kind[80];
            snprintf(kind, sizeof kind, " %s ", (*h)->kind);
            if (adept_op_shard(*h, op) == ADEPT_SHARD_UNKNOWN && !strstr(listed, kind) &&
                strncmp(op->names, "aten::cov ", 10) != 0)
                fail_msg("%s, of kind %s, has no shard word", op->names, (*h)->kind);
        }
}

/* The tables of a saved profile, which also reads as if they were not there. */
static void saved_profiles_have_the_program(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_graph *graph = graph_text(mlp), *again = NULL;
    adept_profile *p = build_with(mlp, &config);
    adept_error err = {0};
    char *text = NULL, *json = adept_profile_to_json(p);
    static const char *const tables[] = {
        "\"shapes\":\t\"shape;f32:2x4;f32:8x4;f32:2x8;f32:3x8;f32:2x3\"",
        "\"memories\":\t\"bytes param first last kept_by resident given;32 -1 0 0 0 0 1;128 0 0 0 -1 1 0;"
        "64 -1 0 2 1 0 0;96 1 2 2 -1 1 0;24 -1 2 3 -1 0 0\"",
        "\"tensors\":\t\"shape memory bytes first last;0 0 32 0 0;1 1 128 0 0;2 2 64 0 1;2 2 64 1 2;3 3 96 2 2;4 4 24 "
        "2 3\"",
        "\"kinds\":\t\"op kind shard;aten::linear linear columns;aten::relu activation elementwise\"",
        "\"operators\":\t\"op kind inputs outputs;0 0 0,1 2;1 1 2 3;2 0 3,4 5\"",
        "\"repeats\":\t\"first length times tensors\"",
        "\"gradients\":\t\"operator bytes;0 128;2 96\""};
    assert_int_equal(adept_saved_write(&text, p, graph, &config, &err), ADEPT_OK);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strstr(text, tables[i])) fail_msg("no %s in %s", tables[i], text);
    assert_null(strstr(json, "\"program\""));
    assert_int_equal(adept_saved_parse(&again, &config, "file.json", text, strlen(text), 0, &err), ADEPT_OK);
    adept_graph_free(again);
    adept_graph_free(graph);
    adept_profile_free(p);
    free(text);
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_without_a_shard_word_are_listed),
        cmocka_unit_test(saved_profiles_have_the_program),
        cmocka_unit_test(a_small_mlp),
        cmocka_unit_test(a_residual_block),
        cmocka_unit_test(layers_are_folded),
        cmocka_unit_test(operators_have_shard_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
