/* Optimizer steps against the thesis's equations 4.4 and 4.5 and counts worked out by hand. */
#include "adept_profile.h"
#include "graph_profile.h"
#include "naive_optimizer.h"
#include "work.h"
#include "cmocka_test.h"

#define assert_exactly(a, b) assert_true((a) == (b)) /* small integers: exact */

static adept_optimizer_cost step(const char *name, double params, double tensors, adept_optimizer_impl impl,
                                 unsigned extras, double word_bytes)
{
    const adept_optimizer_run run = {.optimizer = adept_optimizer_by_name(name),
                                     .impl = impl,
                                     .extras = extras,
                                     .word_bytes = word_bytes,
                                     .params = params,
                                     .tensors = tensors};
    assert_non_null(run.optimizer);
    return adept_optimizer_step(&run);
}

/* PyTorch's default on parameters of 4 bytes. */
static adept_optimizer_cost plain(const char *name, double params, double tensors)
{
    return step(name, params, tensors, ADEPT_IMPL_AUTO, 0, 4);
}

/* Specification 2.1: V_opt is 28 bytes per parameter in FP32, of which 4 are the gradient's, F_opt 18 per parameter. */
static void adamw_reads_and_writes_three_words(void **state)
{
    (void)state;
    adept_optimizer_cost fp32 = plain("adamw", 1000, 1);
    assert_exactly(fp32.bytes_read, 12000); /* p, m, v: 4 each */
    assert_exactly(fp32.bytes_written, 12000);
    assert_exactly(fp32.flops, 18000);
    assert_exactly(fp32.state_bytes, 8000);
}

/* mul_ (p), lerp_ (m g), mul_ (v), addcmul_ (v g), sqrt, div_, add_, addcdiv_ (p m d): 18 words and the gradient twice.
 * In one kernel: p, m and v in and out, the gradient once. */
static void what_adamw_moves(void **state)
{
    (void)state;
    for (int impl = ADEPT_IMPL_AUTO; impl <= ADEPT_IMPL_FORLOOP; impl++) {
        adept_optimizer_cost cost = step("adamw", 1000, 10, (adept_optimizer_impl)impl, 0, 4);
        bool fused = impl == ADEPT_IMPL_FUSED;
        assert_exactly(cost.moved_bytes, 4 * (fused ? 6 : 18) * 1000);
        assert_exactly(cost.moved_gradients, (fused ? 1 : 2) * 1000);
        assert_exactly(cost.kernels, fused ? 1 : impl == ADEPT_IMPL_FORLOOP ? 120 : 12);
        assert_exactly(cost.bytes_read + cost.bytes_written, 24000);
        assert_exactly(cost.waits, 0);
        assert_true(cost.streams == fused);
    }
}

/* AdamW: p -= lr wd p (to FP64, one instruction, back: 3); m (5); v (5); sqrt(v) + eps (3). Adam without the first.
 * Neither apex, nor kernels of one operation each, nor other optimizers; Muon's is that of AdamW on what is no matrix.
 */
static void fused_adam_computes_in_fp64(void **state)
{
    (void)state;
    assert_exactly(step("adamw", 1000, 10, ADEPT_IMPL_FUSED, 0, 4).double_operations, 16000);
    assert_exactly(step("adamw", 1000, 10, ADEPT_IMPL_FUSED, 0, 2).double_operations, 16000);
    assert_exactly(step("adam", 1000, 10, ADEPT_IMPL_FUSED, 0, 4).double_operations, 13000);
    assert_exactly(step("sgd", 1000, 10, ADEPT_IMPL_FUSED, 0, 4).double_operations, 0);
    assert_exactly(step("bertadam", 1000, 10, ADEPT_IMPL_FUSED, 0, 4).double_operations, 0);
    for (int impl = ADEPT_IMPL_AUTO; impl <= ADEPT_IMPL_FORLOOP; impl++)
        if (impl != ADEPT_IMPL_FUSED)
            assert_exactly(step("adamw", 1000, 10, (adept_optimizer_impl)impl, 0, 4).double_operations, 0);
    const adept_matrices matrix = {.rows = 20, .columns = 30, .n = 1};
    adept_optimizer_run run = {.optimizer = adept_optimizer_by_name("adamw"), .impl = ADEPT_IMPL_FUSED, .floats = true,
                               .word_bytes = 4, .params = 1000, .tensors = 10, .n_matrices = 1, .matrices = &matrix};
    assert_exactly(adept_optimizer_step(&run).double_operations, 0);
    assert_true(!adept_optimizer_step(&run).streams);
    run.optimizer = adept_optimizer_by_name("muon"), run.floats = false;
    adept_optimizer_cost muon = adept_optimizer_step(&run);
    assert_exactly(muon.double_operations, 16 * (1000 - 600));
    assert_true(!muon.streams);
}

static void models_of_16_bits_have_words_of_2_bytes(void **state)
{
    (void)state;
    adept_optimizer_cost cost = step("adamw", 1000, 1, ADEPT_IMPL_AUTO, 0, 2);
    assert_exactly(cost.moved_bytes, 36000);
    assert_exactly(cost.bytes_read, 6000);
    assert_exactly(cost.bytes_written, 6000);
    assert_exactly(cost.state_bytes, 4000);
}

/* Copies of 4 bytes: parameters and gradients beside the state. The gradient of 16 bits is read once; its copy is
 * written (4), and read by the optimizer twice (8); 18 words; parameters read (4) and written in 16 bits (2). */
static void master_weights(void **state)
{
    (void)state;
    adept_optimizer_cost cost = step("adamw", 1000, 1, ADEPT_IMPL_AUTO, ADEPT_EXTRA_MASTER, 2);
    assert_exactly(cost.moved_bytes, (72 + 8 + 4 + 4 + 2) * 1000);
    assert_exactly(cost.moved_gradients, 1000);
    assert_exactly(cost.state_bytes, 16000);
    assert_exactly(cost.kernels, 14);
    assert_exactly(step("adamw", 1000, 1, ADEPT_IMPL_AUTO, ADEPT_EXTRA_MASTER, 4).moved_bytes, cost.moved_bytes);
}

/* Clipping reads gradients for their norm, then reads and writes them; unscaling does the latter; zeros are written. An
 * average is read with the parameters, and written. */
static void what_runs_beside_it(void **state)
{
    (void)state;
    static const struct {
        unsigned extra;
        double gradients, bytes, state_bytes, kernels;
    } extras[] = {
        {ADEPT_EXTRA_CLIP, 3, 0, 0, 2},
        {ADEPT_EXTRA_UNSCALE, 2, 0, 0, 1},
        {ADEPT_EXTRA_EMA, 0, 12, 4, 1},
        {ADEPT_EXTRA_ZERO_GRAD, 1, 0, 0, 1},
    };
    adept_optimizer_cost alone = plain("sgd", 1000, 65);
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        adept_optimizer_cost cost = step("sgd", 1000, 65, ADEPT_IMPL_AUTO, extras[i].extra, 4);
        assert_exactly(cost.moved_gradients - alone.moved_gradients, 1000 * extras[i].gradients);
        assert_exactly(cost.moved_bytes - alone.moved_bytes, 1000 * extras[i].bytes);
        assert_exactly(cost.state_bytes - alone.state_bytes, 1000 * extras[i].state_bytes);
        assert_exactly(cost.kernels - alone.kernels, 2 * extras[i].kernels); /* two groups */
        assert_exactly(cost.bytes_read, alone.bytes_read);
    }
}

/* Specification 2.1: momentum reads p, g, m, writes p, m, and takes 4 FLOPs. */
static void momentum_moves_five_words(void **state)
{
    (void)state;
    adept_optimizer_cost cost = plain("momentum", 10, 1);
    assert_exactly(cost.bytes_read, 80); /* and g */
    assert_exactly(cost.bytes_written, 80);
    assert_exactly(cost.flops, 40);
    assert_exactly(cost.state_bytes, 40);
}

static void plain_sgd_has_no_state(void **state)
{
    (void)state;
    adept_optimizer_cost cost = plain("sgd", 10, 1);
    assert_exactly(cost.bytes_read, 40);
    assert_exactly(cost.bytes_written, 40);
    assert_exactly(cost.flops, 20);
    assert_exactly(cost.state_bytes, 0);
}

/* ResNet-50 has 161 parameter tensors: 3 groups of up to 64. */
static void kernels_come_in_groups_of_64_tensors(void **state)
{
    (void)state;
    assert_exactly(plain("adamw", 25557032, 161).kernels, 36);
    assert_exactly(plain("adamw", 64, 64).kernels, 12);
    assert_exactly(plain("adamw", 65, 65).kernels, 24);
    assert_exactly(plain("adamw", 0, 0).kernels, 0);
    assert_exactly(step("adamw", 65, 65, ADEPT_IMPL_FORLOOP, ADEPT_EXTRA_CLIP, 4).kernels, 65 * 14);
}

/* The host waits for each tensor's norm, and runs its kernels one tensor after the other however it is asked. */
static void bertadam_waits(void **state)
{
    (void)state;
    for (int impl = ADEPT_IMPL_AUTO; impl <= ADEPT_IMPL_FORLOOP; impl++) {
        adept_optimizer_cost cost = step("bertadam", 1000, 70, (adept_optimizer_impl)impl, 0, 4);
        assert_exactly(cost.waits, 70);
        assert_exactly(cost.kernels, 70 * 16);
        assert_exactly(cost.moved_gradients, 5000);
    }
}

/* 1000 x 1024 parameters in 8 bits: a byte each and 4 for every 256, twice, whatever the parameters' words are. */
static void states_of_8_bits_are_bytes(void **state)
{
    (void)state;
    for (int word = 2; word <= 4; word += 2) {
        adept_optimizer_cost cost = step("adamw8bit", 1024000, 10, ADEPT_IMPL_AUTO, 0, word);
        assert_exactly(cost.state_bytes, 2 * (1024000 + 4 * 4000));
        assert_exactly(cost.moved_bytes, 2 * word * 1024000 + 2 * cost.state_bytes);
        assert_exactly(cost.bytes_read, word * 1024000 + cost.state_bytes);
    }
}

/* Four matrices of 100 x 100: 200 words each. 14 words a parameter and the factors in and out; the gradient is read for
 * the sums by row, by column, and for the step. Both norms are waited for. */
static void adafactor_keeps_rows_and_columns(void **state)
{
    (void)state;
    for (int impl = ADEPT_IMPL_AUTO; impl <= ADEPT_IMPL_FORLOOP; impl++) {
        adept_optimizer_cost cost = step("adafactor", 40000, 4, (adept_optimizer_impl)impl, 0, 4);
        assert_exactly(cost.state_bytes, 4 * 200 * 4);
        assert_exactly(cost.moved_bytes, 40000 * 14 * 4 + 2 * 3200);
        assert_exactly(cost.moved_gradients, 3 * 40000);
        assert_exactly(cost.bytes_read, 40000 * 4 + 3200);
        assert_exactly(cost.kernels, 4 * 18);
        assert_exactly(cost.waits, 8);
    }
    assert_exactly(step("adafactor", 40000, 4, ADEPT_IMPL_AUTO, 0, 2).state_bytes, 4 * 200 * 2);
}

/* A matrix of 4096 x 1024 and a bias of 1024. X is 1024 x 4096; each of 5 iterations multiplies X X^T (2 * 1024^2 *
 * 4096 FLOPs), G G (2 * 1024^3) and U X, and copies what is added, 1024^2 and 1024 * 4096 elements of 2 bytes, read and
 * written. 8 + 5 * 5 kernels. 9 words and 5 times 2 bytes an element move besides, the momentum is kept; the bias is
 * AdamW's. */
static void muon_by_hand(void **state)
{
    (void)state;
    const double side = 1024, elements = 4096 * side;
    for (int word = 2; word <= 4; word += 2) {
        for (int tall = 0; tall <= 1; tall++) {
            const adept_matrices matrix = {tall ? 4096 : 1024, tall ? 1024 : 4096, 1};
            const adept_optimizer_run run = {.optimizer = adept_optimizer_by_name("muon"),
                                             .word_bytes = word,
                                             .params = elements + side,
                                             .tensors = 2,
                                             .n_matrices = 1,
                                             .matrices = &matrix};
            adept_optimizer_cost cost = adept_optimizer_step(&run);
            assert_exactly(cost.product_flops, 5 * (8589934592.0 + 2147483648.0 + 8589934592.0));
            assert_exactly(cost.kernels, 33 + 12);
            assert_exactly(cost.flops, 12 * elements + 18 * side);
            assert_exactly(cost.state_bytes, word * (elements + 2 * side));
            assert_exactly(cost.moved_bytes,
                           (9 * word + 10) * elements + 5 * 4 * (side * side + elements) + 18 * word * side);
            assert_exactly(cost.moved_gradients, 2 * (elements + side));
            assert_exactly(cost.bytes_read, word * (2 * elements + 3 * side));
            assert_exactly(cost.bytes_written, cost.bytes_read);
        }
    }
}

/* m x k by k x n of 3 x 7: 3 x 7 x 3, 3 x 3 x 3 and 3 x 3 x 7, in words of 2 bytes; the last two read what they add to.
 */
static void products_of_muon(void **state)
{
    (void)state;
    const adept_matrices matrix = {7, 3, 1};
    static const double want[][5] = {
        {3, 3, 7, 2 * (21 + 21), 18}, {3, 3, 3, 2 * (9 + 9 + 9), 18}, {3, 7, 3, 2 * (9 + 21 + 21), 42}};
    adept_kernel k[ADEPT_MUON_PRODUCTS];
    adept_optimizer_products(k, &matrix);
    for (size_t i = 0; i < ADEPT_MUON_PRODUCTS; i++) {
        assert_true(k[i].m == want[i][0] && k[i].n == want[i][1] && k[i].k == want[i][2] && k[i].batch == 1);
        assert_true(k[i].bytes_read == want[i][3] && k[i].bytes_written == want[i][4] && k[i].launches == 1);
        assert_true(k[i].flops == 2 * k[i].m * k[i].n * k[i].k && k[i].dtype == ADEPT_BF16 &&
                    adept_kernel_is_sane(&k[i]));
    }
}

static adept_profile *under_muon(const char *text)
{
    const adept_workload_config muon = {.optimizer = "muon"};
    return build_with(text, &muon);
}

/* Not the table, not the head that has its shape, not what has one dimension or is not trained. */
static void which_matrices_muon_takes(void **state)
{
    (void)state;
    static const char text[] =
        "input x i64:2x5\nparam e f32:100x16 grad\nparam a f32:16x16 grad\nparam b f32:24x16 grad\n"
        "param c f32:16x24 grad\nparam d f32:16x16 grad\nparam f f32:16x16\nparam s f32:16 grad\n"
        "param h f32:100x16 grad\n"
        "y = aten::embedding(weight=e, indices=x)\ny = aten::linear(input=y, weight=a, bias=s)\n"
        "y = aten::linear(input=y, weight=d, bias=none)\ny = aten::linear(input=y, weight=f, bias=none)\n"
        "y = aten::linear(input=y, weight=b, bias=none)\ny = aten::linear(input=y, weight=c, bias=none)\n"
        "y = aten::linear(input=y, weight=h, bias=none)\nreturn y\n";
    const adept_workload_config adamw = {.mode = ADEPT_MODE_TRAIN},
                                infer = {.optimizer = "muon", .mode = ADEPT_MODE_INFER};
    adept_profile *p = under_muon(text);
    static const adept_matrices want[] = {{16, 16, 2}, {16, 24, 1}, {24, 16, 1}};
    assert_int_equal(p->n_matrices, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(p->matrices[i].rows == want[i].rows && p->matrices[i].columns == want[i].columns &&
                    p->matrices[i].n == want[i].n);
    adept_profile_free(p);
    p = build_with(text, &adamw);
    assert_int_equal(p->n_matrices, 0);
    adept_profile_free(p);
    p = build_with(text, &infer);
    assert_int_equal(p->n_matrices, 0);
    adept_profile_free(p);
}

/* What a switch adds to the optimizer's part of a model of 70 tensors of 6 elements: two groups of foreach kernels. */
static adept_optimizer_cost added_by(size_t field, adept_workload_config config)
{
    adept_buffer text = {0};
    adept_work with, without;
    char line[80];
    adept_buffer_text(&text, "input y f32:2x2\n");
    for (int i = 0; i < 70; i++)
        adept_buffer_text(&text, (snprintf(line, sizeof line, "param w%d f32:2x3 grad\n", i), line));
    for (int i = 0; i < 70; i++)
        adept_buffer_text(&text, (snprintf(line, sizeof line, "z%d = aten::matmul(self=y, other=w%d)\n", i, i), line));
    adept_buffer_text(&text, "return z69\n");
    char *model = adept_buffer_take(&text);
    for (int on = 0; on < 2; on++) {
        if (on) *(bool *)((char *)&config.words + adept_workload_field(field)->at) = true;
        adept_profile *p = build_with(model, &config);
        assert_int_equal(p->trainable_params, 70 * 6);
        assert_int_equal(adept_work_sum(on ? &with : &without, p, NULL), ADEPT_OK);
        adept_profile_free(p);
    }
    free(model);
    return (adept_optimizer_cost){.flops = with.optimizer.flops - without.optimizer.flops,
                                  .moved_gradients = with.optimizer.moved_gradients - without.optimizer.moved_gradients,
                                  .kernels = with.optimizer.kernels - without.optimizer.kernels,
                                  .waits = with.optimizer.waits - without.optimizer.waits};
}

static void grad_scaler(void **state)
{
    (void)state;
    static const struct {
        adept_workload_config config;
        double flops, uses, kernels, waits;
    } cases[] = {
        {{.optimizer = "sgd"}, 2, 2, 2 + 5 + 2, 1},
        {{.optimizer = "adamw", .grad_accum = 3}, 2, 2, 2 + 5 + 6, 1},
        {{.optimizer = "adamw", .optimizer_impl = ADEPT_IMPL_FUSED}, 2, 2, 2 + 5 + 2, 0},
        {{.optimizer = "sgd", .optimizer_impl = ADEPT_IMPL_FORLOOP}, 2, 2, 70 + 5 + 2, 1},
        {{.optimizer = "sgd", .precision = ADEPT_AMP_FP16}, 2, 0, 5 + 2, 1}, /* it unscales anyway */
        {{.optimizer = "none"}, 0, 0, 0, 0},
        {{.mode = ADEPT_MODE_FWBW}, 0, 0, 0, 0},
        {{.mode = ADEPT_MODE_INFER}, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_optimizer_cost cost = added_by(ADEPT_FIELD_grad_scaler, cases[i].config);
        assert_exactly(cost.flops, cases[i].flops * 420);
        assert_exactly(cost.moved_gradients, cases[i].uses * 420);
        assert_exactly(cost.kernels, cases[i].kernels);
        assert_exactly(cost.waits, cases[i].waits);
    }
}

static void clip_grad_norm(void **state)
{
    (void)state;
    static const struct {
        adept_workload_config config;
        double flops, uses, kernels;
    } cases[] = {
        {{.optimizer = "sgd"}, 3, 3, 3 * 2 + 6}, /* norm, its end, product */
        {{.optimizer = "adamw", .optimizer_impl = ADEPT_IMPL_FUSED, .grad_accum = 3}, 3, 3, 3 * 2 + 6},
        {{.optimizer = "sgd", .optimizer_impl = ADEPT_IMPL_FORLOOP}, 3, 3, 3 * 70 + 6},
        {{.optimizer = "sgd", .grad_scaler = true}, 3, 3, 3 * 2 + 6},
        {{.optimizer = "none"}, 0, 0, 0},
        {{.mode = ADEPT_MODE_INFER}, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_optimizer_cost cost = added_by(ADEPT_FIELD_clip_grad_norm, cases[i].config);
        assert_exactly(cost.flops, cases[i].flops * 420);
        assert_exactly(cost.moved_gradients, cases[i].uses * 420);
        assert_exactly(cost.kernels, cases[i].kernels);
        assert_exactly(cost.waits, 0);
    }
}

/* However often others are read before it. */
static void tables_read_again(void **state)
{
    (void)state;
    static const char text[] = "input x i64:2x5\nparam e f32:100x16 grad\nparam f f32:50x16 grad\n"
                               "y = aten::embedding(weight=e, indices=x)\ny = aten::embedding(weight=e, indices=x)\n"
                               "y = aten::embedding(weight=e, indices=x)\nz = aten::embedding(weight=f, indices=x)\n"
                               "w = aten::add(self=y, other=z, alpha=1)\nreturn w\n";
    adept_profile *p = under_muon(text);
    assert_int_equal(p->n_matrices, 0);
    adept_profile_free(p);
}

/* The table of bags is one too; what multiplies their sums is none. */
static void tables_of_bags(void **state)
{
    (void)state;
    static const char text[] =
        "input x i64:6\ninput o i64:2\nparam e f32:100x16 grad\nparam a f32:24x16 grad\n"
        "y, i, n, m = aten::embedding_bag(weight=e, indices=x, offsets=o, scale_grad_by_freq=false, mode=0, "
        "sparse=false, per_sample_weights=none, include_last_offset=false, padding_idx=none)\n"
        "y = aten::linear(input=y, weight=a, bias=none)\nreturn y\n";
    adept_profile *p = under_muon(text);
    assert_int_equal(p->n_matrices, 1);
    assert_true(p->matrices[0].rows == 24 && p->matrices[0].columns == 16);
    adept_profile_free(p);
}

static void none_does_nothing(void **state)
{
    (void)state;
    adept_optimizer_cost cost = step("none", 1000, 10, ADEPT_IMPL_AUTO, ADEPT_EXTRA_CLIP | ADEPT_EXTRA_MASTER, 4);
    assert_exactly(cost.flops + cost.bytes_read + cost.bytes_written + cost.kernels + cost.state_bytes, 0);
    assert_exactly(cost.moved_bytes + cost.moved_gradients + cost.waits, 0);
    cost = step("adamw", 0, 0, ADEPT_IMPL_FUSED, ADEPT_EXTRA_CLIP | ADEPT_EXTRA_MASTER, 2); /* nothing to train */
    assert_exactly(cost.moved_bytes + cost.moved_gradients + cost.kernels, 0);
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    assert_null(adept_optimizer_by_name("sgdm"));
    assert_null(adept_optimizer_by_name(""));
    assert_null(adept_optimizer_by_name(NULL));
}

/* What is kept between steps is read and written, besides the parameter itself; LAMB reads its step and the parameter
 * once more, and writes the step. Kernels of one operation each move what they are said to. */
static void rows_are_consistent(void **state)
{
    (void)state;
    size_t n = 0;
    for (; adept_optimizer_name(n); n++) {
        const adept_optimizer *row = adept_optimizer_by_name(adept_optimizer_name(n));
        assert_non_null(row);
        assert_string_equal(row->name, adept_optimizer_name(n));
        if (!strcmp(row->name, "none")) continue;
        bool twice = strcmp(row->name, "lamb") == 0;
        naive_words words = naive_optimizer_words(row->name);
        assert_exactly(row->read_words_per_param, row->state_words_per_param + 1 + 2 * twice);
        assert_exactly(row->write_words_per_param, row->state_words_per_param + 1 + twice);
        assert_true(row->flops_per_param >= 2 && row->operations >= 1);
        if (row->moved_words != words.moved || row->gradient_uses != words.gradients)
            fail_msg("%s moves %g words and %g gradients", row->name, words.moved, words.gradients);
        assert_exactly(row->operations, words.kernels);
        assert_exactly(row->state_words_per_param, words.state);
        assert_exactly(row->read_words_per_param + row->write_words_per_param, words.once);
    }
    assert_int_equal(n, 17);
    assert_null(adept_optimizer_name(n));
}

static void implementations_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"auto", "foreach", "fused", "forloop"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(adept_optimizer_impl_name(i), names[i]);
        assert_int_equal(adept_name_index(names[i], adept_optimizer_impl_name), i);
    }
    assert_null(adept_optimizer_impl_name(4));
    assert_int_equal(adept_name_index("apex", adept_optimizer_impl_name), SIZE_MAX);
    assert_int_equal(adept_name_index("", adept_optimizer_impl_name), SIZE_MAX);
}

static void extras_are_written_as_they_are_read(void **state)
{
    (void)state;
    char text[64];
    unsigned extras = 0;
    for (unsigned bits = 0; bits < 32; bits++) {
        adept_optimizer_extras_print(text, sizeof text, bits);
        assert_true(strlen(text) < 40);
        assert_true(adept_optimizer_extras_parse(&extras, text) && extras == bits);
    }
    assert_string_equal(text, "clip,unscale,master,ema,zero_grad");
    assert_true(adept_optimizer_extras_parse(&extras, "none") && extras == 0);
    assert_true(adept_optimizer_extras_parse(&extras, "ema,clip") && extras == (ADEPT_EXTRA_EMA | ADEPT_EXTRA_CLIP));
    static const char *const bad[] = {"clipped", "cli", "clip,,ema", "clip ema", "clip,none", ",clip", "clip,"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (adept_optimizer_extras_parse(&extras, bad[i])) fail_msg("\"%s\" is read as %u", bad[i], extras);
    assert_string_equal(adept_optimizer_extra_name(4), "zero_grad");
    assert_null(adept_optimizer_extra_name(5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw_reads_and_writes_three_words),
        cmocka_unit_test(what_adamw_moves),
        cmocka_unit_test(fused_adam_computes_in_fp64),
        cmocka_unit_test(models_of_16_bits_have_words_of_2_bytes),
        cmocka_unit_test(master_weights),
        cmocka_unit_test(what_runs_beside_it),
        cmocka_unit_test(momentum_moves_five_words),
        cmocka_unit_test(plain_sgd_has_no_state),
        cmocka_unit_test(kernels_come_in_groups_of_64_tensors),
        cmocka_unit_test(bertadam_waits),
        cmocka_unit_test(states_of_8_bits_are_bytes),
        cmocka_unit_test(adafactor_keeps_rows_and_columns),
        cmocka_unit_test(muon_by_hand),
        cmocka_unit_test(products_of_muon),
        cmocka_unit_test(which_matrices_muon_takes),
        cmocka_unit_test(tables_of_bags),
        cmocka_unit_test(tables_read_again),
        cmocka_unit_test(none_does_nothing),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(rows_are_consistent),
        cmocka_unit_test(implementations_have_names),
        cmocka_unit_test(grad_scaler),
        cmocka_unit_test(clip_grad_norm),
        cmocka_unit_test(extras_are_written_as_they_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
