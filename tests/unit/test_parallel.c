/* A step under a layout: what is plain equals the ordinary prediction, and bubbles, passes in flight, states of
 * parameters, collectives, recomputation and what waits by the closed forms of docs/PARALLEL.md. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_layout.h"
#include "adept_plan.h"
#include "communication.h"
#include "cmocka_test.h"

#define GPT "adept:gpt2?layers=16&hidden=1024&heads=16&ffn=4096&vocab=50304"

typedef struct world {
    adept_profile *p;
    adept_hwprofile *hw;
} world;

static adept_profile *walk(const char *model, const adept_workload_config *config)
{
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_error err = {0};
    adept_graph *g = NULL;
    adept_profile *p = NULL;
    if (adept_models_path(path, model, &err) != ADEPT_OK || adept_import_model(&g, path, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    if (adept_profile_build(&p, g, adept_handlers(), config, NULL, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    adept_graph_free(g);
    return p;
}

static int setup(void **state)
{
    static world w;
    adept_error err = {0};
    w.p = walk(GPT, &(adept_workload_config){
                        .precision = ADEPT_PURE_BF16, .batch_size = 2, .seq_length = 512, .execution = ADEPT_COMPILE});
    if (adept_hwprofile_open(&w.hw, "h100", &err) != ADEPT_OK) fail_msg("%s", err.message);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    adept_profile_free(w->p);
    adept_hwprofile_free(w->hw);
    return 0;
}

static adept_layout_prediction predict(const world *w, adept_run run)
{
    adept_layout_prediction out;
    adept_error err = {0};
    if (adept_predict_layout(&out, w->p, w->hw, &run, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return out;
}

static void near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within * fabs(expected))) fail_msg("%.12g is not %.12g", value, expected);
}

/* ---- what is plain ---- */

static void one_is_the_ordinary_prediction(void **state)
{
    const world *w = *state;
    adept_error err = {0};
    adept_prediction ordinary, said;
    static const adept_run runs[][2] = {
        {{.gpus = 1}, {.tp = 1, .pp = 1, .cp = 1, .ep = 1}},
        {{.gpus = 8}, {.gpus = 8, .dp = 8, .tp = 1}},
        {{.gpus = 4}, {.dp = 4, .global_batch = 8}},
        {{.gpus = 16, .nodes = 2, .internode_bytes_per_s = 400e9}, {.dp = 16}}}; /* the board's usual server */
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        assert_int_equal(adept_predict(&ordinary, w->p, w->hw, &runs[i][0], &err), ADEPT_OK);
        if (adept_predict(&said, w->p, w->hw, &runs[i][1], &err) != ADEPT_OK) fail_msg("%s", err.message);
        assert_memory_equal(&ordinary.estimate, &said.estimate, sizeof said.estimate);
        assert_memory_equal(&ordinary.memory, &said.memory, sizeof said.memory);
    }
    /* passes by the global batch are grad_accum */
    adept_profile accumulates = *w->p;
    accumulates.grad_accum = 4;
    assert_int_equal(adept_predict(&ordinary, &accumulates, w->hw, &(adept_run){.gpus = 2}, &err), ADEPT_OK);
    assert_int_equal(adept_predict(&said, w->p, w->hw, &(adept_run){.dp = 2, .global_batch = 16}, &err), ADEPT_OK);
    assert_memory_equal(&ordinary.estimate, &said.estimate, sizeof said.estimate);
}

/* Plans know one workload on one GPU: they take what is plain, and refuse the rest. */
static void plans_refuse_layouts(void **state)
{
    const world *w = *state;
    adept_error err = {0};
    adept_plan *plan;
    adept_estimate e;
    assert_int_equal(adept_plan_new(&plan, w->p, w->hw, NULL, &err), ADEPT_OK);
    assert_int_equal(adept_plan_predict(&e, plan, &(adept_run){.gpus = 4, .dp = 4}, &err), ADEPT_OK);
    static const adept_run refused[] = {
        {.tp = 2}, {.gpus = 4, .pp = 2}, {.gpus = 4, .zero = 2}, {.dp = 4}, {.activation_checkpoint = 1}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(adept_plan_predict(&e, plan, &refused[i], &err), ADEPT_E_USAGE);
        assert_non_null(strstr(err.message, "adept predict takes it"));
    }
    adept_plan_free(plan);
}

/* ---- pipelines ---- */

static double others_s(const adept_layout_prediction *l)
{
    double sum = 0.0;
    for (size_t i = 0; i < l->n_stages; i++)
        sum += l->stages[i].micro_s;
    return sum - l->stages[l->slowest].micro_s;
}

/* Of the ideal time (p-1)/m, interleaved (p-1)/(m v), ZB1P (p-1)/(3 m), where stages are alike; else the other stages'
 * micro-batches. */
static void bubbles(void **state)
{
    const world *w = *state;
    const adept_layout_prediction plain = predict(w, (adept_run){.pp = 4, .global_batch = 16}),
                                  v2 = predict(w, (adept_run){.pp = 4, .virtual_stages = 2, .global_batch = 16}),
                                  zb = predict(
                                      w, (adept_run){.pp = 4, .schedule = ADEPT_PIPELINE_ZB1P, .global_batch = 16}),
                                  v = predict(w,
                                              (adept_run){.pp = 4, .schedule = ADEPT_PIPELINE_ZBV, .global_batch = 16});
    assert_true(plain.mesh.micro_batches == 8);
    near(plain.bubble_s, others_s(&plain), 1e-12);
    near(v2.bubble_s, others_s(&v2) / 2.0, 1e-12);
    near(zb.bubble_s, others_s(&zb) / 3.0, 1e-12);
    assert_true(v.bubble_s == 0.0);
    /* 2 micro-batches cannot fill 4 stages. Of F = B = W = T/3: on the way through them 4 (F + B) and then W, or half
     * of it with two visits, and F + B more, or half: ZB1P 3 + 2/3 T, ZBV (17/6 + 1/3) T, of which 2 T are computing */
    for (int visits = 1; visits <= 2; visits++) {
        const adept_layout_prediction few =
            predict(w, (adept_run){.pp = 4,
                                   .schedule = visits == 1 ? ADEPT_PIPELINE_ZB1P : ADEPT_PIPELINE_ZBV,
                                   .global_batch = 4});
        const adept_stage_prediction *slow = &few.stages[few.slowest];
        double path_s = slow->backward_s / 2 / visits + (slow->micro_s - slow->backward_s / 2) / visits;
        for (size_t i = 0; i < 4; i++)
            path_s += few.stages[i].micro_s - few.stages[i].backward_s / 2;
        near(few.bubble_s, path_s - 2 * slow->micro_s, 1e-9);
        assert_true(few.bubble_s > 0.8 * slow->micro_s);
        assert_true(few.prediction.bound != ADEPT_BOUND_LAUNCH || few.rest_s > few.compute_s);
    }
    /* middle stages are alike: 4 of 16 blocks, without embedding and head */
    assert_true(plain.stages[1].blocks == 4.0 && plain.stages[1].micro_s == plain.stages[2].micro_s);
    assert_int_equal(plain.slowest, 3);
    /* sends: forward and backward of each micro-batch, twice as many by virtual stages, of which 60 % are hidden */
    near(v2.send_s, plain.send_s * 2.0 * 0.4, 1e-12);
}

static void passes_in_flight(void **state)
{
    const world *w = *state;
    const adept_layout_prediction plain = predict(w, (adept_run){.pp = 4, .global_batch = 16}),
                                  few = predict(w, (adept_run){.pp = 4, .global_batch = 4}),
                                  v2 = predict(w, (adept_run){.pp = 4, .virtual_stages = 2, .global_batch = 16});
    for (size_t r = 0; r < 4; r++) {
        assert_true(plain.stages[r].in_flight == 4.0 - (double)r);
        assert_true(few.stages[r].in_flight == fmin(2.0, 4.0 - (double)r));
    }
    assert_true(v2.stages[0].in_flight == 4.0 + 3.0 / 2.0);
    /* Megatron-LM leaves no fewer over than there are stages: 5, 6, 9 and 10 micro-batches are groups of 5, 6, 5 + 4
     * and 5 + 5. The bubble is as that of groups of 4; as many more passes of the other part are on their way. */
    static const double groups[][3] = {{5, 5, 5}, {6, 6, 6}, {8, 4, 5.5}, {9, 5, 6}, {10, 5, 6}, {12, 4, 5.5}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const adept_layout_prediction l =
            predict(w, (adept_run){.pp = 4, .virtual_stages = 2, .global_batch = 2 * (int64_t)groups[i][0]});
        assert_true((double)l.mesh.micro_batches == groups[i][0] && (double)l.mesh.in_a_row == groups[i][1]);
        assert_true(l.stages[0].in_flight == groups[i][2]);
        near(l.bubble_s, others_s(&l) / 2.0, 1e-12);
    }
    assert_int_equal(plain.worst, 3); /* its logits, and the table of the tied head */
}

/* Blocks that no number of stages divides: embedding and head count as a block each where that helps, else the middle
 * has more. A head tied to the embedding has the table once more, where they are in two stages. */
static void stages_share_blocks(void **state)
{
    const world *w = *state;
    const adept_layout_prediction three = predict(w, (adept_run){.pp = 3, .global_batch = 6}),
                                  six = predict(w, (adept_run){.pp = 6, .global_batch = 12});
    /* 16 + 2 = 6 x 3 */
    assert_true(six.stages[0].blocks == 2.0 && six.stages[5].blocks == 2.0 && six.stages[1].blocks == 3.0);
    assert_true(three.stages[0].blocks == 5.0 && three.stages[1].blocks == 6.0 && three.stages[2].blocks == 5.0);
    for (int i = 0; i < 2; i++) {
        double params = 0.0;
        for (size_t r = 0; r < (i ? six : three).n_stages; r++)
            params += (i ? six : three).stages[r].params;
        assert_true(params == (double)w->p->trainable_params + 50304.0 * 1024);
    }
    /* 16 blocks in 18 parts, as Llama 3.1 has 126 in 128: the ends are embedding and head alone */
    const adept_layout_prediction ends =
        predict(w, (adept_run){.pp = 9, .virtual_stages = 2, .nodes = 3, .global_batch = 18});
    assert_true(ends.stages[0].blocks == 1.0 && ends.stages[1].blocks == 2.0 && ends.stages[8].blocks == 1.0);
    assert_true(ends.stages[0].params > ends.stages[1].params); /* a block and the table */
    adept_error err = {0};
    adept_prediction p;
    assert_int_equal(adept_predict(&p, w->p, w->hw, &(adept_run){.pp = 32, .global_batch = 64}, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "the model has 16 blocks"));
}

/* ---- states ---- */

/* Bytes of a parameter: PyTorch 2+2+4 in pure bf16 and 16 under autocast, over n by FSDP; Megatron 18, or 6+12/n;
 * DeepSpeed 4+16/n, 2+16/n. */
static void states_of_parameters(void **state)
{
    world w = *(world *)*state;
    const double n = 8.0;
    static const struct {
        adept_run run;
        double whole, shared; /* over n */
    } cases[] = {{{.gpus = 8, .trainer = ADEPT_TRAINER_MEGATRON}, 18, 0},
                 {{.gpus = 8, .trainer = ADEPT_TRAINER_MEGATRON, .zero = 2}, 6, 12},
                 {{.gpus = 8, .trainer = ADEPT_TRAINER_DEEPSPEED, .zero = 2}, 4, 16},
                 {{.gpus = 8, .trainer = ADEPT_TRAINER_DEEPSPEED, .zero = 3}, 2, 16},
                 {{.gpus = 8, .fsdp = ADEPT_FSDP_FULL}, 0, 8},
                 {{.gpus = 8, .tp = 2, .fsdp = ADEPT_FSDP_HYBRID | 4 << 4}, 0, 16}, /* over 4, of half the parameters */
                 {{.gpus = 8, .zero = 2}, 4, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const adept_layout_prediction l = predict(&w, cases[i].run);
        /* masks are no parameters */
        near(l.stages[0].states_bytes / l.stages[0].params, cases[i].whole + cases[i].shared / n, 1e-3);
    }
    /* pipelines of DeepSpeed sum gradients of bf16 in 32 bits, shared by nobody: 8 + 12/n, n 4 */
    const adept_layout_prediction summed =
        predict(&w, (adept_run){.gpus = 8, .pp = 2, .trainer = ADEPT_TRAINER_DEEPSPEED, .zero = 2});
    near(summed.stages[0].states_bytes / summed.stages[0].params, 8 + 12 / 4.0, 1e-3);
    w.p = walk(GPT, &(adept_workload_config){.precision = ADEPT_AMP_BF16, .batch_size = 2, .seq_length = 512});
    const adept_layout_prediction full = predict(&w, (adept_run){.gpus = 8, .fsdp = ADEPT_FSDP_FULL});
    near(full.stages[0].states_bytes / full.stages[0].params, 16.0 / n, 1e-3);
    const adept_layout_prediction recomputed =
        predict(&w, (adept_run){.gpus = 1, .activation_checkpoint = ADEPT_RECOMPUTE_FULL});
    near(recomputed.stages[0].states_bytes / recomputed.stages[0].params, 16.0, 1e-3);
    adept_profile_free(w.p);
    /* Megatron's gradients of fp16 lie in 16 bits, and their copies in 32 in the optimizer: 20, or 4+16/n */
    w.p = walk(GPT, &(adept_workload_config){.precision = ADEPT_PURE_FP16, .batch_size = 2, .seq_length = 512});
    for (int zero = 0; zero <= 2; zero += 2) {
        const adept_layout_prediction half =
            predict(&w, (adept_run){.gpus = 8, .trainer = ADEPT_TRAINER_MEGATRON, .zero = zero});
        near(half.stages[0].states_bytes / half.stages[0].params, zero ? 4 + 16 / n : 20.0, 1e-3);
    }
    adept_profile_free(w.p);
}

/* ---- time, recomputation, power ---- */

static void parts_sum_to_the_step(void **state)
{
    const world *w = *state;
    static const adept_run runs[] = {
        {.gpus = 8, .tp = 2, .sp = true, .pp = 2, .global_batch = 16},
        {.gpus = 8, .fsdp = ADEPT_FSDP_FULL, .activation_checkpoint = ADEPT_RECOMPUTE_FULL},
        {.gpus = 64, .tp = 4, .zero = 2, .global_batch = 64, .trainer = ADEPT_TRAINER_NEMO},
        {.gpus = 8, .cp = 4, .activation_checkpoint = ADEPT_RECOMPUTE_SELECTIVE}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const adept_layout_prediction l = predict(w, runs[i]);
        const adept_prediction *p = &l.prediction;
        near(l.compute_s + l.again_s + l.tensor_s + l.context_s + l.expert_s + l.data_s + l.send_s + l.bubble_s +
                 l.optimizer_s + l.rest_s,
             p->step_time_s, 1e-12);
        assert_true(l.rest_s >= 0.0);
        assert_true(p->energy_step_j == p->power_avg_w * p->step_time_s);
        double watts = 0.0;
        for (size_t r = 0; r < l.n_stages; r++)
            watts += l.stages[r].power_w * (double)(l.mesh.gpus / l.mesh.pp);
        near(p->power_avg_w, watts, 1e-12);
        assert_true(p->samples == (double)l.mesh.global_batch);
    }
}

static void recomputing_takes_time_and_saves_memory(void **state)
{
    const world *w = *state;
    const adept_run plain = {.gpus = 2, .fsdp = ADEPT_FSDP_FULL};
    adept_run again = plain, some = plain;
    again.activation_checkpoint = ADEPT_RECOMPUTE_FULL;
    some.activation_checkpoint = adept_sized(ADEPT_RECOMPUTE_BLOCKS, 4);
    const adept_layout_prediction a = predict(w, plain), b = predict(w, again), c = predict(w, some);
    near(c.again_s / b.again_s, 4.0 / 16.0, 0.02); /* the first block's copies differ a little */
    /* one of forward, backward of twice that */
    assert_true(b.again_s > 0.2 * b.compute_s && b.again_s < 0.4 * b.compute_s);
    assert_true(b.stages[0].memory.activations_bytes < c.stages[0].memory.activations_bytes &&
                c.stages[0].memory.activations_bytes < a.stages[0].memory.activations_bytes);
    assert_true(b.prediction.mfu < a.prediction.mfu); /* FLOPs are the model's */
    near(b.prediction.gemm_flops, a.prediction.gemm_flops, 1e-12);
}

/* FSDP gathers experts block by block beside computing, as all else of a block: little of them is waited for. */
static void experts_are_gathered_beside(void **state)
{
    world w = *(world *)*state;
    w.p =
        walk("adept:mixtral?layers=8&hidden=2048&heads=16&kv_heads=4&head_dim=128&ffn=4096&vocab=32000&experts=8&topk=2"
             "&expert_ffn=4096",
             &(adept_workload_config){
                 .precision = ADEPT_PURE_BF16, .batch_size = 4, .seq_length = 4096, .execution = ADEPT_COMPILE});
    const adept_layout_prediction l = predict(&w, (adept_run){.gpus = 8, .ep = 2, .fsdp = ADEPT_FSDP_FULL});
    assert_true(l.data_hidden_s > l.data_s);
    adept_profile_free(w.p);
}

/* A block: Q and O 2048 x 2048, K and V 2048 x 512, a router 2048 x 8 and two norms are 10,506,240; each expert is 3 x
 * 2048 x 4096 = 25,165,824, of which a GPU has 8 / ep. Embedding 32000 x 2048, and as much with a norm at the end. */
static void unsharded_weights_count_experts(void **state)
{
    world w = *(world *)*state;
    const double dense = 10506240, expert = 25165824, ends[] = {65536000, 65538048};
    w.p =
        walk("adept:mixtral?layers=8&hidden=2048&heads=16&kv_heads=4&head_dim=128&ffn=4096&vocab=32000&experts=8&topk=2"
             "&expert_ffn=4096&tied=false",
             &(adept_workload_config){.precision = ADEPT_PURE_BF16, .batch_size = 1, .seq_length = 512});
    /* full: two blocks in 16 bits, and one's gradient */
    const struct {
        int64_t ep;
        double bytes;
    } full[] = {{1, 6 * (dense + 8 * expert)},
                {2, 6 * (dense + 4 * expert)},
                {4, 6 * (dense + 2 * expert)}, /* 60,837,888 is less than either end */
                {8, 0}};
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        const adept_layout_prediction l =
            predict(&w, (adept_run){.gpus = 8, .ep = full[i].ep, .fsdp = ADEPT_FSDP_FULL});
        /* of 8 parts each GPU has its expert for itself: nothing of it is gathered */
        const double ends_bytes = 2 * (ends[0] + ends[1]) + 2 * ends[1];
        near(l.stages[0].unsharded_bytes, full[i].ep < 4 ? full[i].bytes : ends_bytes, 1e-9);
    }
    /* grad: all that is shared out is there at once */
    for (int64_t ep = 2; ep <= 8; ep *= 4) {
        const adept_layout_prediction l = predict(&w, (adept_run){.gpus = 8, .ep = ep, .fsdp = ADEPT_FSDP_GRAD});
        const double experts = ep < 8 ? 8 * 4 * expert : 0;
        near(l.stages[0].unsharded_bytes, 2 * (8 * dense + ends[0] + ends[1] + experts), 1e-9);
    }
    adept_profile_free(w.p);
}

/* torch's checkpoints stop before the last product of a block, unless something behind it keeps what it reads or makes:
 * dropout its mask (GPT-2), a norm its input (BERT). */
static void the_last_product_is_not_computed_again(void **state)
{
    world w = *(world *)*state;
    const adept_workload_config config = {.precision = ADEPT_PURE_BF16, .batch_size = 2, .seq_length = 512};
    static const struct {
        const char *model;
        double low, high;
    } cases[] = {{"adept:llama?layers=4", 0.65, 0.85}, {GPT, 0.97, 1}, {"adept:bert?layers=4", 0.99, 1 + 1e-9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        w.p = walk(cases[i].model, &config);
        const adept_run torch = {.gpus = 1, .activation_checkpoint = ADEPT_RECOMPUTE_FULL};
        adept_run megatron = torch;
        megatron.trainer = ADEPT_TRAINER_MEGATRON;
        const double share = predict(&w, torch).again_s / predict(&w, megatron).again_s;
        if (!(share > cases[i].low && share < cases[i].high)) fail_msg("%s: %g of a block", cases[i].model, share);
        adept_profile_free(w.p);
    }
}

static double gradient_of_logits(const adept_stage_prediction *s)
{
    return s->allocated_bytes - s->states_bytes - s->memory.activations_bytes + s->memory.reused_bytes;
}

/* Beside tensors: context and communicators, 400 MiB each; DeepSpeed's copies, 4 bytes a parameter of the rank, up
 * to 8.5 GB. Megatron's loss works in the place of a copy of its logits in 32 bits: with those in 16 bits 6 bytes each,
 * and not PyTorch's 12. */
static void memory_beside_tensors(void **state)
{
    const world *w = *state;
    const double mib = 1024.0 * 1024, boundary = 2.0 * 512 * 1024 * 2, params = 2 * 12 * 1024.0 * 1024 * 16 / 4;
    adept_run run = {.gpus = 4, .pp = 2, .zero = 2, .trainer = ADEPT_TRAINER_MEGATRON};
    const adept_layout_prediction megatron = predict(w, run);
    run.trainer = ADEPT_TRAINER_DEEPSPEED;
    const adept_layout_prediction deepspeed = predict(w, run);
    near(megatron.stages[1].buffers_bytes, (600 + 2 * 400) * mib + 2 * boundary, 1e-12);
    near(deepspeed.stages[1].buffers_bytes - megatron.stages[1].buffers_bytes, 4 * deepspeed.stages[1].params, 1e-12);
    assert_true(deepspeed.stages[1].params > params); /* 8 blocks, and the head */
    run = (adept_run){.gpus = 2, .trainer = ADEPT_TRAINER_MEGATRON};
    const adept_layout_prediction in_place = predict(w, run);
    run.trainer = ADEPT_TRAINER_TORCH, run.zero = 2; /* else it is plain */
    const adept_layout_prediction pytorch = predict(w, run);
    const double logits = 2.0 * 512 * 50304;
    near(gradient_of_logits(&in_place.stages[0]), 2 * logits, 1e-2);
    near(gradient_of_logits(&pytorch.stages[0]), 8 * logits, 1e-2);
    run.trainer = ADEPT_TRAINER_DEEPSPEED; /* with exponentials beside them */
    const adept_layout_prediction fork = predict(w, run);
    near(gradient_of_logits(&fork.stages[0]) - (fork.stages[0].buffers_bytes - 600 * mib - 400 * mib), 6 * logits,
         1e-2);
    /* gradients come where activations were, but those of several passes stay */
    const adept_stage_prediction *once = &pytorch.stages[0];
    assert_true(once->memory.reused_bytes == once->memory.gradients_bytes);
    run = (adept_run){.gpus = 2, .zero = 2, .global_batch = 8};
    assert_true(predict(w, run).stages[0].memory.reused_bytes == 0 && in_place.stages[0].memory.reused_bytes == 0);
    const adept_stage_prediction *last = &megatron.stages[1];
    near(last->memory.peak_bytes - last->buffers_bytes - (last->allocated_bytes - 2 * boundary),
         0.02 * (last->allocated_bytes - 2 * boundary), 1e-9); /* fragments */
}

/* Neither idle nor busy: 48 % of the limit of boards with HBM, 32 % of others. */
static void boards_that_wait(void **state)
{
    world w = *(world *)*state;
    const adept_layout_prediction h100 = predict(&w, (adept_run){.pp = 8, .global_batch = 2});
    near(h100.wait_w, 0.48 * 700, 1e-12);
    assert_true(h100.stages[3].busy_s < 0.3 * h100.prediction.step_time_s);
    assert_true(h100.stages[3].power_w < 1.4 * h100.wait_w && h100.stages[3].power_w > h100.wait_w);
    adept_error err = {0};
    assert_int_equal(adept_hwprofile_open(&w.hw, "a40", &err), ADEPT_OK);
    near(predict(&w, (adept_run){.pp = 4, .global_batch = 2}).wait_w, 0.32 * 300, 1e-12);
    /* a cap acts on what is busy */
    const adept_layout_prediction free_run = predict(&w, (adept_run){.pp = 4, .global_batch = 32}),
                                  capped = predict(&w, (adept_run){.pp = 4, .global_batch = 32, .power_limit_w = 150});
    assert_true(capped.prediction.step_time_s > free_run.prediction.step_time_s);
    assert_true(capped.prediction.power_avg_w < free_run.prediction.power_avg_w);
    adept_hwprofile_free(w.hw);
}

/* ---- collectives ---- */

static void collectives(void **state)
{
    (void)state;
    const double bw = 300e9, hop = 1e-8, nic = 50e9, bytes = 1e9;
    const adept_group_of node = {8, 8, nic, 1e-5, false, 0.0}, wide = {8, 1, nic, 1e-5, false, 0.0},
                         both = {64, 8, nic, 1e-5, false, 0.0}, none = {1, 1, nic, 1e-5, false, 0.0};
    /* in a node gathers and scatters are halves of the all-reduce, whose bus bandwidth is that of 8 GPUs */
    near(adept_collective_s(ADEPT_ALL_REDUCE, &node, bytes, hop, bw), 2.0 * 7 / 8 * bytes / bw, 0.02);
    near(adept_collective_s(ADEPT_ALL_GATHER, &node, bytes, hop, bw), 7.0 / 8 * bytes / bw, 0.02);
    near(adept_collective_s(ADEPT_REDUCE_SCATTER, &node, bytes, hop, bw), 7.0 / 8 * bytes / bw, 0.02);
    /* one rank in each node has an adapter; eight ranks of a node have eight, up to what joins them inside */
    near(adept_collective_s(ADEPT_ALL_REDUCE, &wide, bytes, hop, bw), 2.0 * 7 / 8 * bytes / (0.85 * nic), 0.01);
    near(adept_collective_s(ADEPT_ALL_REDUCE, &both, bytes, hop, bw), 2.0 * 63 / 64 * bytes / bw, 0.05);
    near(adept_collective_s(ADEPT_ALL_GATHER, &both, bytes, hop, bw), 63.0 / 64 * bytes / bw, 0.05);
    near(adept_collective_s(ADEPT_SEND, &wide, bytes, hop, bw), bytes / (0.85 * nic), 0.01);
    near(adept_collective_s(ADEPT_ALL_TO_ALL, &wide, bytes, hop, bw), 7.0 / 8 * bytes / (0.85 * nic), 0.01);
    assert_true(adept_collective_s(ADEPT_ALL_REDUCE, &none, bytes, hop, bw) == 0.0);
    assert_true(adept_collective_s(ADEPT_ALL_REDUCE, &node, 0, hop, bw) == 0.0);
    /* small ones wait for hops */
    assert_true(adept_collective_s(ADEPT_ALL_REDUCE, &wide, 1e3, hop, bw) > 8 * 1e-5);
}

/* ---- all layouts ---- */

/* The search's sums against predictions of layouts one by one. */
static void the_search_finds_the_best(void **state)
{
    const world *w = *state;
    const adept_profile *profiles[] = {w->p};
    adept_error err = {0};
    adept_layout_search *s = calloc(1, sizeof *s);
    *s = (adept_layout_search){
        .profiles = profiles, .n_profiles = 1, .hw = w->hw, .run = {.gpus = 8, .global_batch = 32}, .within = INFINITY};
    if (adept_layouts_search(s, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_true(s->searched > 100.0 && s->n_best == ADEPT_MOST_FOUND && s->n_front > 0);
    double best_s = INFINITY;
    for (int64_t tp = 1; tp <= 8; tp *= 2)
        for (int64_t pp = 1; pp <= 8 / tp; pp *= 2)
            for (int zero = 0; zero < 5; zero += 2) {
                adept_layout_prediction l;
                const adept_run run = {.gpus = 8, .global_batch = 32, .tp = tp, .sp = tp > 1, .pp = pp, .zero = zero};
                if (adept_predict_layout(&l, w->p, w->hw, &run, &err) == ADEPT_OK)
                    best_s = fmin(best_s, l.prediction.step_time_s);
            }
    for (size_t i = 0; i < s->n_best; i++) {
        const adept_layout_prediction l = predict(w, s->best[i].run);
        near(s->best[i].step_time_s, l.prediction.step_time_s, 0.15); /* one clock for all stages */
        assert_true(l.prediction.memory.fits);
        near(s->best[i].peak_bytes, l.prediction.memory.peak_bytes, l.mesh.plain ? 0.2 : 1e-9);
        assert_true(i == 0 || s->best[i].step_time_s >= s->best[i - 1].step_time_s);
        if (i == 0) assert_true(l.prediction.step_time_s <= 1.02 * best_s);
    }
    for (size_t i = 1; i < s->n_front; i++)
        assert_true(s->front[i].step_time_s > s->front[i - 1].step_time_s &&
                    s->front[i].energy_step_j < s->front[i - 1].energy_step_j);
    const double fastest_s = s->best[0].step_time_s, searched = s->searched;
    s->goal = ADEPT_LAYOUT_ENERGY;
    s->within = 0.05;
    assert_int_equal(adept_layouts_search(s, &err), ADEPT_OK);
    assert_true(s->searched == searched);
    for (size_t i = 0; i < s->n_best; i++)
        assert_true(s->best[i].step_time_s <= 1.05 * fastest_s &&
                    (i == 0 || s->best[i].energy_step_j >= s->best[i - 1].energy_step_j));
    free(s);
}

/* ---- questions of docs/PARALLEL.md ---- */

static void eight_billion_fit_by_shards(void **state)
{
    world w = *(world *)*state;
    w.p = walk("llama-3-8b",
               &(adept_workload_config){
                   .precision = ADEPT_AMP_BF16, .batch_size = 1, .seq_length = 8192, .execution = ADEPT_COMPILE});
    adept_run run = {.gpus = 8, .fsdp = ADEPT_FSDP_FULL, .activation_checkpoint = ADEPT_RECOMPUTE_SELECTIVE};
    assert_true(predict(&w, run).prediction.memory.fits);
    adept_prediction alone;
    assert_int_equal(adept_predict(&alone, w.p, w.hw, &(adept_run){.gpus = 8}, NULL), ADEPT_OK);
    assert_false(alone.memory.fits);
    /* logits of 128256 words, in FP32: what autograd keeps of them, and their gradient */
    adept_run chunked = run;
    chunked.loss = ADEPT_LOGITS_CHUNKED;
    const double logits = 8192.0 * 128256 * 4;
    assert_true(predict(&w, run).prediction.memory.peak_bytes - predict(&w, chunked).prediction.memory.peak_bytes >
                2.0 * 7 / 8 * logits);
    /* more GPUs to shard over leave less on each */
    run.gpus = 64;
    assert_true(predict(&w, run).prediction.memory.peak_bytes <
                predict(&w, (adept_run){.gpus = 8, .fsdp = ADEPT_FSDP_FULL}).prediction.memory.peak_bytes);
    adept_profile_free(w.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_the_ordinary_prediction),
        cmocka_unit_test(plans_refuse_layouts),
        cmocka_unit_test(bubbles),
        cmocka_unit_test(passes_in_flight),
        cmocka_unit_test(stages_share_blocks),
        cmocka_unit_test(states_of_parameters),
        cmocka_unit_test(parts_sum_to_the_step),
        cmocka_unit_test(recomputing_takes_time_and_saves_memory),
        cmocka_unit_test(experts_are_gathered_beside),
        cmocka_unit_test(unsharded_weights_count_experts),
        cmocka_unit_test(memory_beside_tensors),
        cmocka_unit_test(boards_that_wait),
        cmocka_unit_test(collectives),
        cmocka_unit_test(the_last_product_is_not_computed_again),
        cmocka_unit_test(the_search_finds_the_best),
        cmocka_unit_test(eight_billion_fit_by_shards),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
