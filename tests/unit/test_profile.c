/* From graph to profile: gradients, casts, saved memory, merging, control flow, unsupported operators, JSON. */
#include <cjson/cJSON.h>
#include "graph_profile.h"
#include <stdio.h>
#include <stdlib.h>

/* Two linear layers, batch 2: 4 -> 8 -> 3. */
static const char two_linears[] = "input x f32:2x4\n"
                                  "param w1 f32:8x4 grad\n"
                                  "param w2 f32:3x8 grad\n"
                                  "h = aten::linear(input=x, weight=w1, bias=none) @ fc1 torch.nn.Linear\n"
                                  "a = aten::relu_(self=h) @ act torch.nn.ReLU\n"
                                  "y = aten::linear(input=a, weight=w2, bias=none) @ fc2 torch.nn.Linear\n"
                                  "return y\n";

static adept_status build_fails(const char *text, const adept_workload_config *config, adept_error *err)
{
    adept_graph *g = graph_text(text);
    adept_profile *p = NULL;
    adept_status status = adept_profile_build(&p, g, adept_handlers(), config, NULL, NULL, err);
    adept_graph_free(g);
    assert_null(p);
    assert_int_not_equal(status, ADEPT_OK);
    return status;
}

static double flops(const adept_profile_op *op, adept_pass pass)
{
    double sum = 0;
    for (size_t i = 0; i < op->n_kernels; i++)
        if (op->kernels[i].pass == pass && op->kernels[i].unit == ADEPT_UNIT_GEMM) sum += op->kernels[i].flops;
    return sum;
}

static void counts_a_small_network(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with(two_linears, &config);
    assert_int_equal(p->params, 8 * 4 + 3 * 8);
    assert_int_equal(p->trainable_tensors, 2);
    assert_int_equal(p->batch_size, 2);
    assert_string_equal(p->optimizer, "adamw");
    assert_true(p->totals.macs_forward == 2 * 4 * 8 + 2 * 8 * 3);
    /* fc1 has no input gradient: the input of the model wants none */
    assert_true(flops(find_op(p, "fc1", "aten::linear"), ADEPT_FORWARD) == 2 * 2 * 4 * 8);
    assert_true(flops(find_op(p, "fc1", "aten::linear"), ADEPT_BACKWARD) == 2 * 2 * 4 * 8);
    assert_true(flops(find_op(p, "fc2", "aten::linear"), ADEPT_BACKWARD) == 2 * (2 * 2 * 8 * 3));
    /* saved: x (2*4*4 bytes) by fc1; relu_ writes into fc1's output: that memory once (2*8*4); weights are no
     * activations */
    assert_true(p->activations_bytes == 2 * 4 * 4 + 2 * 8 * 4);
    adept_profile_free(p);
}

static void infer_has_no_backward(void **state)
{
    (void)state;
    adept_workload_config config = {.mode = ADEPT_MODE_INFER};
    adept_profile *p = build_with(two_linears, &config);
    assert_string_equal(p->optimizer, "none");
    assert_true(p->totals.kernels[ADEPT_BACKWARD] == 0);
    assert_true(p->totals.gemm_flops[ADEPT_BACKWARD] == 0);
    for (size_t i = 0; i < p->n_ops; i++)
        assert_true(p->ops[i].saved_bytes == 0);
    /* alive together: x and h, then h (relu_ in place) and y: 32 + 64, 64 + 24 */
    assert_true(p->activations_bytes == 32 + 64);
    adept_profile_free(p);
}

static void frozen_weights_need_no_gradient(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "param w1 f32:8x4\n"
                                  "param w2 f32:3x8 grad\n"
                                  "h = aten::linear(input=x, weight=w1, bias=none) @ fc1 Linear\n"
                                  "y = aten::linear(input=h, weight=w2, bias=none) @ fc2 Linear\n"
                                  "return y\n",
                                  &config);
    assert_int_equal(p->params, 56);
    assert_int_equal(p->trainable_params, 24);
    assert_true(flops(find_op(p, "fc1", "aten::linear"), ADEPT_BACKWARD) == 0);
    /* only the weight's gradient in fc2: nothing before it learns */
    assert_true(flops(find_op(p, "fc2", "aten::linear"), ADEPT_BACKWARD) == 2 * 2 * 8 * 3);
    adept_profile_free(p);
}

static void what_does_not_reach_the_output_has_no_backward(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "param w f32:8x4 grad\n"
                                  "h = aten::linear(input=x, weight=w, bias=none) @ used Linear\n"
                                  "d = aten::linear(input=x, weight=w, bias=none) @ dead Linear\n"
                                  "return h\n",
                                  &config);
    assert_true(flops(find_op(p, "dead", "aten::linear"), ADEPT_FORWARD) == 128);
    assert_true(flops(find_op(p, "dead", "aten::linear"), ADEPT_BACKWARD) == 0);
    assert_true(flops(find_op(p, "used", "aten::linear"), ADEPT_BACKWARD) == 128);
    adept_profile_free(p);
}

/* A gradient that flows through memory written in place: zeros, a slice of it, copy_ into the slice. */
static void gradients_flow_through_memory_written_in_place(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "param w f32:8x4 grad\n"
                                  "h = aten::linear(input=x, weight=w, bias=none) @ fc Linear\n"
                                  "z = aten::zeros(size=[2, 16], dtype=6)\n"
                                  "s = aten::slice(self=z, dim=1, start=0, end=8, step=1)\n"
                                  "c = aten::copy_(self=s, src=h)\n"
                                  "return z\n",
                                  &config);
    assert_true(flops(find_op(p, "fc", "aten::linear"), ADEPT_BACKWARD) == 128);
    adept_profile_free(p);
}

static void identical_layers_merge(void **state)
{
    (void)state;
    char text[4000] = "input x f32:2x4\nparam w0 f32:4x4 grad\n";
    for (int i = 1; i < 12; i++)
        sprintf(text + strlen(text), "param w%d f32:4x4 grad\n", i);
    strcat(text, "h0 = aten::linear(input=x, weight=w0, bias=none) @ layers.0.fc Linear\n");
    for (int i = 1; i < 12; i++)
        sprintf(text + strlen(text), "h%d = aten::linear(input=h%d, weight=w%d, bias=none) @ layers.%d.fc Linear\n", i,
                i - 1, i, i);
    strcat(text, "return h11\n");
    adept_workload_config config = {0};
    adept_profile *p = build_with(text, &config);
    /* the first layer has no input gradient, so it is another operator than the eleven others */
    assert_int_equal(p->n_ops, 2);
    assert_string_equal(p->ops[0].path, "layers.0.fc");
    assert_string_equal(p->ops[1].path, "layers.{1-11}.fc");
    assert_int_equal(p->ops[1].count, 11);
    assert_true(p->ops[0].places.n == 1 && p->ops[0].places.first == 0 && p->ops[0].places.last == 0);
    assert_true(p->ops[1].places.n == 11 && p->ops[1].places.first == 1 && p->ops[1].places.last == 11);
    assert_true(p->ops[0].gradient_bytes == 64 && p->ops[1].gradient_bytes == 11 * 64);
    assert_memory_equal(&p->ops[1].gradient_places, &p->ops[1].places, sizeof p->ops[1].places);
    adept_profile_free(p);
}

/* A gradient is complete after the backward of the first use, also by way of a view; frozen ones and buffers have none.
 */
static void gradients_are_complete_at_the_first_use(void **state)
{
    (void)state;
    static const char text[] = "input x f32:2x4\n"
                               "param w f32:4x4 grad\n"
                               "param frozen f32:4x4\n"
                               "param v f32:4x4 grad\n"
                               "h0 = aten::linear(input=x, weight=w, bias=none) @ layers.0.fc Linear\n"
                               "h1 = aten::linear(input=h0, weight=w, bias=none) @ layers.1.fc Linear\n"
                               "h2 = aten::linear(input=h1, weight=w, bias=none) @ layers.2.fc Linear\n"
                               "f = aten::linear(input=h2, weight=frozen, bias=none) @ frozen Linear\n"
                               "t = aten::t(self=v) @ head Head\n"
                               "y = aten::matmul(self=f, other=t) @ head Head\n"
                               "return y\n";
    adept_workload_config config = {.precision = ADEPT_PURE_BF16};
    adept_profile *p = build_with(text, &config);
    double sum = 0;
    for (size_t i = 0; i < p->n_ops; i++) {
        const adept_profile_op *op = &p->ops[i];
        bool first = strcmp(op->path, "layers.0.fc") == 0, head = strcmp(op->op, "aten::matmul") == 0;
        assert_true(op->places.n == op->count);
        assert_true(op->gradient_bytes == (first || head ? 32 : 0)); /* 16 elements of 2 bytes */
        assert_int_equal(op->gradient_places.n, first || head);
        sum += op->gradient_bytes;
    }
    assert_true(sum == p->trainable_bytes);
    adept_profile_free(p);
    config = (adept_workload_config){.mode = ADEPT_MODE_INFER};
    p = build_with(text, &config);
    for (size_t i = 0; i < p->n_ops; i++)
        assert_true(p->ops[i].gradient_bytes == 0 && p->ops[i].gradient_places.n == 0);
    adept_profile_free(p);
}

/* Indices behind an underscore fold inside a path, not at its end; a star in a name is just a star. */
static void paths_fold_indices(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "a = aten::relu(self=x) @ blk_0.ln_1 N\n"
                                  "b = aten::relu(self=x) @ blk_1.ln_1 N\n"
                                  "c = aten::relu(self=x) @ blk_3.ln_1 N\n"
                                  "d = aten::relu(self=x) @ blk_3.ln_2 N\n"
                                  "e = aten::relu(self=x) @ a*b.7 N\n"
                                  "f = aten::relu(self=x) @ a*b.9 N\n"
                                  "return a, b, c, d, e, f\n",
                                  &config);
    assert_int_equal(p->n_ops, 3);
    assert_string_equal(p->ops[0].path, "blk_{0,1,3}.ln_1");
    assert_string_equal(p->ops[1].path, "blk_3.ln_2");
    assert_string_equal(p->ops[2].path, "a*b.{7,9}");
    adept_profile_free(p);
}

static void autocast_casts_and_keeps_copies(void **state)
{
    (void)state;
    adept_workload_config config = {.precision = ADEPT_AMP_BF16};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "param w f32:4x4 grad tied\n"
                                  "h = aten::linear(input=x, weight=w, bias=none) @ a Linear\n"
                                  "y = aten::linear(input=h, weight=w, bias=none) @ b Linear\n"
                                  "s = aten::softmax(self=y, dim=1, dtype=none) @ c Softmax\n"
                                  "return s\n",
                                  &config);
    /* the weight is cast once for both uses: 16 elements of 2 bytes are kept for the pass */
    assert_true(p->autocast_copy_bytes == 32);
    assert_int_equal(find_op(p, "a", "autocast::to")->count + 0, 1);
    assert_string_equal(find_op(p, "a", "aten::linear")->inputs, "bf16:2x4, bf16:4x4");
    assert_string_equal(find_op(p, "c", "aten::softmax")->inputs, "f32:2x4");
    assert_true(find_op(p, "b", "aten::linear")->tied);
    for (size_t i = 0; i < p->n_ops; i++) /* the second linear sees bf16 already: no cast of its own */
        if (!strcmp(p->ops[i].path, "b")) assert_string_equal(p->ops[i].kind, "linear");
    adept_profile_free(p);
}

/* model.half(): half the bytes of every tensor, and no cast. Types written in the trace stand for the model's own. */
static void pure_16_bit_halves_bytes_without_casts(void **state)
{
    (void)state;
    static const char text[] = "input x f32:2x4\n"
                               "input ids i64:2x4\n"
                               "param w f32:4x4 grad\n"
                               "h = aten::linear(input=x, weight=w, bias=none) @ a Linear\n"
                               "s = aten::softmax(self=h, dim=1, dtype=6) @ c Softmax\n"
                               "m = aten::mul(self=ids, other=0.5) @ mask Mask\n"
                               "y = aten::add(self=s, other=m, alpha=1) @ d Add\n"
                               "return y\n";
    adept_workload_config config = {.precision = ADEPT_PURE_FP16};
    adept_profile *p = build_with(text, &config);
    assert_true(p->weights_bytes == 32 && p->trainable_bytes == 32 && p->autocast_copy_bytes == 0);
    assert_string_equal(find_op(p, "a", "aten::linear")->inputs, "f16:2x4, f16:4x4");
    assert_string_equal(find_op(p, "c", "aten::softmax")->outputs, "f16:2x4");
    /* integers times a number are 32 bits; what meets them stays at 16 */
    assert_string_equal(find_op(p, "mask", "aten::mul")->outputs, "f32:2x4");
    assert_string_equal(find_op(p, "d", "aten::add")->inputs, "f16:2x4, f16:2x4");
    int casts = 0;
    for (size_t i = 0; i < p->n_ops; i++)
        casts += !strcmp(p->ops[i].kind, "cast");
    assert_int_equal(casts, 1);
    adept_profile_free(p);
    assert_true(adept_precision_is_pure(ADEPT_PURE_BF16) && !adept_precision_is_autocast(ADEPT_PURE_BF16));
    assert_int_equal(adept_precision_stored_dtype(ADEPT_PURE_BF16, ADEPT_F32), ADEPT_BF16);
    assert_int_equal(adept_precision_stored_dtype(ADEPT_PURE_BF16, ADEPT_F64), ADEPT_F64);
    assert_int_equal(adept_precision_stored_dtype(ADEPT_AMP_BF16, ADEPT_F32), ADEPT_F32);
    assert_int_equal(adept_precision_low_dtype(ADEPT_TF32), ADEPT_DTYPE_NONE);
}

static void conditions_on_known_sizes_are_followed(void **state)
{
    (void)state;
    static const char text[] = "input x f32:2x4\n"
                               "param w f32:8x4 grad\n"
                               "n = aten::size(self=x, dim=0)\n"
                               "big = aten::gt(a=n, b=4)\n"
                               "if big\n"
                               "u = aten::relu(self=x) @ big ReLU\n"
                               "yields u\n"
                               "else\n"
                               "v = aten::linear(input=x, weight=w, bias=none) @ small Linear\n"
                               "yields v\n"
                               "end -> r\n"
                               "return r\n";
    adept_workload_config config = {0};
    adept_profile *p = build_with(text, &config);
    assert_true(p->totals.macs_forward == 64);
    adept_profile_free(p);
    config.batch_size = 8;
    p = build_with(text, &config);
    assert_true(p->totals.macs_forward == 0);
    adept_profile_free(p);
}

/* int(x.shape[0]) wrote a 2 into the view: at batch 4 the rest of the batch would slip into the next dimension. */
static void a_batch_fixed_by_the_trace_is_found(void **state)
{
    (void)state;
    static const char text[] = "input x f32:2x3x4\n"
                               "param w f32:4x4 grad\n"
                               "v = aten::view(self=x, size=[2, -1, 4]) @ encoder.3 Block\n"
                               "y = aten::linear(input=v, weight=w, bias=none) @ fc Linear\n"
                               "return y\n";
    adept_workload_config config = {0};
    adept_error err;
    adept_profile_free(build_with(text, &config));
    config.batch_size = 4;
    assert_int_equal(build_fails(text, &config, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "encoder.3"));
    assert_non_null(strstr(err.message, "fixed when the model was traced"));
    /* the batch folded into channels for one operator and unfolded again is no mistake */
    static const char folded[] = "input x f32:2x3x4\n"
                                 "n = aten::size(self=x, dim=0)\n"
                                 "v = aten::view(self=x, size=[1, -1, 4])\n"
                                 "r = aten::relu(self=v)\n"
                                 "u = aten::view(self=r, size=[n, 3, 4])\n"
                                 "return u\n";
    adept_profile_free(build_with(folded, &config));
}

static bool has_warning(const adept_profile *p, const char *says)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], says)) return true;
    return false;
}

/* A model saved in bf16 runs in bf16, whatever the default says; PyTorch takes no fp32 input for it. */
static void sixteen_bit_weights_are_said(void **state)
{
    (void)state;
    static const char text[] = "input x bf16:2x4\n"
                               "param w bf16:8x4 grad\n"
                               "param s f32:4 grad\n"
                               "y = aten::linear(input=x, weight=w, bias=none) @ fc Linear\n"
                               "return y\n";
    adept_workload_config config = {0};
    adept_error err;
    adept_profile *p = build_with(text, &config);
    assert_int_equal(p->precision, ADEPT_PURE_BF16);
    assert_true(p->weights_bytes == 8 * 4 * 2 + 4 * 4);
    assert_true(has_warning(p, "have bf16: the step runs in pure-bf16, not in fp32"));
    adept_profile_free(p);
    adept_input_spec input = {.dtype = ADEPT_F32, .ndim = 2, .dims = {6, 4}};
    config.inputs = &input, config.n_inputs = 1;
    assert_int_equal(build_fails(text, &config, &err), ADEPT_E_USAGE);
    assert_non_null(
        strstr(err.message, "module 'fc' (Linear): aten::linear: f32:6x4 and bf16:8x4 have different types"));
    config.precision = ADEPT_AMP_BF16;
    p = build_with(text, &config);
    assert_int_equal(p->precision, ADEPT_AMP_BF16);
    assert_string_equal(find_op(p, "fc", "aten::linear")->inputs, "bf16:6x4, bf16:8x4");
    adept_profile_free(p);
    config.precision = ADEPT_PURE_FP16; /* casts both */
    adept_profile_free(build_with("input x f32:2x4\nparam w f32:8x4 grad\n"
                                  "y = aten::linear(input=x, weight=w, bias=none)\nreturn y\n", &config));
}

/* A list that grows after it was read: the concatenation had two entries. */
static void lists_are_costed_as_they_were(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "l = prim::ListConstruct(x, x)\n"
                                  "c = aten::cat(tensors=l, dim=0) @ c C\n"
                                  "m = aten::append(self=l, el=x)\n"
                                  "return c\n",
                                  &config);
    assert_string_equal(find_op(p, "c", "aten::cat")->inputs, "f32:2x4, f32:2x4");
    adept_profile_free(p);
}

static void tuples_are_sliced(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "a = aten::relu(self=x) @ a R\n"
                                  "t = prim::TupleConstruct(x, a, x)\n"
                                  "s = prim::TupleSlice(t, 1, 3)\n"
                                  "y, z = prim::TupleUnpack(s)\n"
                                  "b = aten::tanh(self=y) @ b T\n"
                                  "return b\n",
                                  &config);
    assert_string_equal(find_op(p, "b", "aten::tanh")->inputs, "f32:2x4");
    adept_profile_free(p);
    adept_error err;
    assert_int_equal(
        build_fails("input x f32:2x4\nt = prim::TupleConstruct(x)\ns = prim::TupleSlice(t, 1, 3)\nreturn x\n", &config,
                    &err),
        ADEPT_E_INVALID);
}

static void twice_the_batch_is_twice_the_work(void **state)
{
    (void)state;
    adept_workload_config config = {.batch_size = 3};
    adept_profile *a = build_with(two_linears, &config);
    config.batch_size = 6;
    adept_profile *b = build_with(two_linears, &config);
    assert_true(b->totals.macs_forward == 2 * a->totals.macs_forward);
    assert_true(b->totals.gemm_flops[1] == 2 * a->totals.gemm_flops[1]);
    assert_true(b->activations_bytes == 2 * a->activations_bytes);
    assert_int_equal(b->batch_size, 6);
    adept_profile_free(a);
    adept_profile_free(b);
}

static void lists_all_unsupported_operators(void **state)
{
    (void)state;
    adept_graph *g = graph_text("input x f32:2x4\n"
                                "a = mylib::flash(self=x) @ attn.0 Flash\n"
                                "b = mylib::flash(self=a) @ attn.1 Flash\n"
                                "c = mylib::rope(self=b) @ rope Rope\n"
                                "return c\n");
    adept_profile *p = NULL;
    adept_unsupported *list = NULL;
    size_t n = 0;
    adept_error err = {0};
    adept_workload_config config = {0};
    assert_int_equal(adept_profile_build(&p, g, adept_handlers(), &config, &list, &n, &err), ADEPT_E_UNSUPPORTED);
    assert_int_equal(n, 2);
    assert_string_equal(list[0].op, "mylib::flash");
    assert_int_equal(list[0].count, 2);
    assert_string_equal(list[0].path, "attn.0");
    assert_string_equal(list[1].op, "mylib::rope");
    assert_non_null(strstr(err.message, "mylib::flash x2, mylib::rope x1"));
    free(list);
    config.allow_unsupported = true;
    assert_int_equal(adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err), ADEPT_OK);
    assert_true(p->n_warnings >= 2);
    assert_non_null(strstr(p->warnings[0], "mylib::flash"));
    adept_profile_free(p);
    adept_graph_free(g);
}

static void misfits_name_the_module(void **state)
{
    (void)state;
    adept_error err;
    adept_workload_config config = {.batch_size = 8};
    /* a batch of 2 baked into a view: 8 x 4 elements are no 2 x 4 */
    static const char baked[] = "input x f32:2x4\n"
                                "param w f32:4x4 grad\n"
                                "v = aten::view(self=x, size=[2, 4]) @ encoder.3 Block\n"
                                "y = aten::linear(input=v, weight=w, bias=none) @ fc Linear\n"
                                "return y\n";
    assert_int_equal(build_fails(baked, &config, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "encoder.3"));
    assert_null(strchr(err.message, '\n'));
    /* the same from the file alone is the file's fault */
    static const char broken[] = "input x f32:8x4\nv = aten::view(self=x, size=[2, 4])\nreturn v\n";
    adept_workload_config plain = {0};
    assert_int_equal(build_fails(broken, &plain, &err), ADEPT_E_INVALID);
}

static void missing_shapes_name_the_option(void **state)
{
    (void)state;
    adept_error err;
    adept_workload_config config = {0};
    assert_int_equal(build_fails("input x\nr = aten::relu(self=x)\nreturn r\n", &config, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "--input"));
    adept_input_spec specs[2];
    assert_int_equal(adept_input_spec_parse(&specs[0], "Bx3", NULL), ADEPT_OK);
    assert_int_equal(adept_input_spec_parse(&specs[1], "Bx3", NULL), ADEPT_OK);
    config.inputs = specs;
    config.n_inputs = 1;
    assert_int_equal(build_fails("input x\nr = aten::relu(self=x)\nreturn r\n", &config, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "--batch"));
    config.n_inputs = 2;
    config.batch_size = 4;
    assert_int_equal(build_fails("input x\nr = aten::relu(self=x)\nreturn r\n", &config, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "2 input shapes given, the model takes 1"));
}

static void input_specs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed;
    } good[] = {{"Bx3x224x224", "f32:Bx3x224x224"},
                {"i64:Bx512", "i64:Bx512"},
                {"16x8", "f32:16x8"},
                {"bool:", "bool:"},
                {"bf16:7", "bf16:7"},
                {"n=3", "n=3"},
                {"batch.ids=i64:BxS", "batch.ids=i64:BxS"},
                {"xs=", "xs="},
                {"how=a=b", "how=a=b"},
                {"i64:B=50", "i64:B=50"},
                {"i32:=-3", "i32:=-3"},
                {"n=i64:B=50", "n=i64:B=50"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        adept_input_spec spec;
        char text[100];
        assert_int_equal(adept_input_spec_parse(&spec, good[i].text, NULL), ADEPT_OK);
        assert_string_equal(adept_input_spec_print(&spec, text, sizeof text), good[i].printed);
    }
    static const char *const bad[] = {"",
                                      "x",
                                      "3x",
                                      "x3",
                                      "3xx4",
                                      "0x4",
                                      "-1x4",
                                      "f99:3",
                                      "3.5",
                                      "BxB",
                                      "3x4 ",
                                      " 3",
                                      "99999999999999999999",
                                      "1x1x1x1x1x1x1x1x1",
                                      "3,4",
                                      "f32",
                                      "3xB4",
                                      "=3",
                                      "3=5",
                                      "i64:3=",
                                      "i64:3=x",
                                      "i64:3=5.5",
                                      "i64:3= 5",
                                      "i64:3=99999999999999999999",
                                      "i64:3=5=5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        adept_input_spec spec;
        adept_error err;
        if (adept_input_spec_parse(&spec, bad[i], &err) != ADEPT_E_USAGE) fail_msg("'%s' was accepted", bad[i]);
        assert_non_null(strstr(err.message, bad[i]));
    }
    adept_input_spec spec;
    char longest[ADEPT_INPUT_TEXT_BYTES + 1];
    assert_int_equal(adept_input_spec_parse(&spec, "n=\t", NULL), ADEPT_E_USAGE);
    for (size_t over = 0; over < 2; over++) {
        memset(longest, 'n', sizeof longest);
        longest[1] = '=';
        longest[ADEPT_INPUT_TEXT_BYTES - 1 + over] = '\0';
        assert_int_equal(adept_input_spec_parse(&spec, longest, NULL), over ? ADEPT_E_USAGE : ADEPT_OK);
    }
}

static double number_at(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    return item ? item->valuedouble : 0; /* a kernel's zeros are not written */
}

static void same_op(const cJSON *o, const adept_profile_op *op)
{
    const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(o, "kernels");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(o, "path")->valuestring, op->path);
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(o, "inputs")->valuestring, op->inputs);
    assert_true(number_at(o, "count") == (double)op->count && number_at(o, "saved_bytes") == op->saved_bytes);
    assert_int_equal(cJSON_GetArraySize(kernels), op->n_kernels);
    for (size_t i = 0; i < op->n_kernels; i++) {
        const cJSON *k = cJSON_GetArrayItem(kernels, (int)i);
        const adept_kernel *want = &op->kernels[i];
        assert_string_equal(cJSON_GetObjectItemCaseSensitive(k, "pass")->valuestring, adept_pass_name(want->pass));
        assert_true(number_at(k, "flops") == want->flops && number_at(k, "bytes_read") == want->bytes_read);
        assert_true(number_at(k, "bytes_written") == want->bytes_written && number_at(k, "m") == want->m);
        assert_true(number_at(k, "elements") == want->elements && number_at(k, "launches") == want->launches);
    }
}

/* CONTRACT "profile --json": what programs read. */
static void json_has_every_number(void **state)
{
    (void)state;
    adept_workload_config config = {.precision = ADEPT_AMP_FP16,
                                    .grad_accum = 3,
                                    .memory_format = ADEPT_CHANNELS_LAST,
                                    .execution = ADEPT_GRAPHS,
                                    .optimizer = "sgd",
                                    .optimizer_impl = ADEPT_IMPL_FUSED,
                                    .optimizer_extras = ADEPT_EXTRA_CLIP | ADEPT_EXTRA_ZERO_GRAD};
    adept_profile *p = build_with(two_linears, &config);
    char *text = adept_profile_to_json(p);
    assert_non_null(text);
    cJSON *root = cJSON_Parse(text);
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(root, "ops"),
                *totals = cJSON_GetObjectItemCaseSensitive(root, "totals"),
                *features = cJSON_GetObjectItemCaseSensitive(root, "features"),
                *of_config = cJSON_GetObjectItemCaseSensitive(root, "config");
    assert_true(number_at(root, "schema_version") == 3);
    assert_int_equal(cJSON_GetArraySize(ops), p->n_ops);
    for (size_t i = 0; i < p->n_ops; i++)
        same_op(cJSON_GetArrayItem(ops, (int)i), &p->ops[i]);
    assert_true(number_at(totals, "macs_forward") == p->totals.macs_forward);
    assert_true(number_at(totals, "bytes_written_backward") == p->totals.bytes_written[ADEPT_BACKWARD]);
    assert_true(number_at(features, "gemm_m") == p->features.gemm_m);
    assert_true(number_at(features, "working_set_bytes") == p->features.working_set_bytes);
    assert_true(number_at(of_config, "grad_accum") == 3 && number_at(of_config, "batch_size") == (double)p->batch_size);
    static const char *const words[][2] = {{"optimizer", "sgd"},
                                           {"optimizer_impl", "fused"},
                                           {"optimizer_extras", "clip,zero_grad"},
                                           {"memory_format", "channels_last"},
                                           {"execution", "graphs"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_string_equal(cJSON_GetObjectItemCaseSensitive(of_config, words[i][0])->valuestring, words[i][1]);
    assert_null(cJSON_GetObjectItemCaseSensitive(root, "graph")); /* that is for saved profiles */
    cJSON_Delete(root);
    free(text);
    adept_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_specs),
        cmocka_unit_test(counts_a_small_network),
        cmocka_unit_test(infer_has_no_backward),
        cmocka_unit_test(frozen_weights_need_no_gradient),
        cmocka_unit_test(what_does_not_reach_the_output_has_no_backward),
        cmocka_unit_test(gradients_flow_through_memory_written_in_place),
        cmocka_unit_test(identical_layers_merge),
        cmocka_unit_test(gradients_are_complete_at_the_first_use),
        cmocka_unit_test(paths_fold_indices),
        cmocka_unit_test(autocast_casts_and_keeps_copies),
        cmocka_unit_test(pure_16_bit_halves_bytes_without_casts),
        cmocka_unit_test(conditions_on_known_sizes_are_followed),
        cmocka_unit_test(a_batch_fixed_by_the_trace_is_found),
        cmocka_unit_test(sixteen_bit_weights_are_said),
        cmocka_unit_test(lists_are_costed_as_they_were),
        cmocka_unit_test(tuples_are_sliced),
        cmocka_unit_test(twice_the_batch_is_twice_the_work),
        cmocka_unit_test(lists_all_unsupported_operators),
        cmocka_unit_test(misfits_name_the_module),
        cmocka_unit_test(missing_shapes_name_the_option),
        cmocka_unit_test(json_has_every_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
