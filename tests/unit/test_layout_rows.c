/* Rows of layouts: models whose sizes stand in columns, words of other programs, what rows do not say, rows that are
 * listed; and the order of layouts. Every expected number is worked out in a comment. */
#include "adept_layouts.h"
#include "adept_measurements.h"
#include "cmocka_test.h"

static adept_dataset *parse(const char *text)
{
    adept_error err = {0};
    adept_dataset *d = adept_dataset_new();
    assert_non_null(d);
    d->listing = true;
    if (adept_dataset_parse(d, "l.csv", text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
    return d;
}

/* ---- order ---- */

/* Measured 1, 2, 3, 4: pairs are (1,2) (1,3) (1,4) (2,3) (2,4) (3,4). Predicted 1, 3, 2, 4 has one of six the wrong
 * way. */
static void order_of_four(void **state)
{
    (void)state;
    static const double measured[] = {1, 2, 3, 4}, predicted[] = {1, 3, 2, 4}, equal[] = {1, 2, 2, 4};
    adept_order o = adept_kendall(measured, predicted, NULL, 4, 0.05);
    assert_int_equal(o.n_pairs, 6);
    assert_float_equal(o.tau, (5.0 - 1) / 6, 1e-12);
    o = adept_kendall(measured, equal, NULL, 4, 0.05); /* predicted equal: 5 right, none wrong */
    assert_float_equal(o.tau, 5.0 / 6, 1e-12);
    o = adept_kendall(measured, predicted, NULL, 4, 0.4); /* 4 is a third above 3, which is not further than 40 % */
    assert_int_equal(o.n_pairs, 5);
    static const size_t same[] = {0, 1, 1, 3}; /* 2 and 3 are of one configuration: nothing could tell them apart */
    o = adept_kendall(measured, predicted, same, 4, 0.05);
    assert_int_equal(o.n_pairs, 5);
    assert_float_equal(o.tau, 1, 1e-12);
    o = adept_kendall(measured, predicted, NULL, 1, 0.05);
    assert_true(o.n_pairs == 0 && isnan(o.tau));
}

/* The best predicted is measured 12, the best measured 10; among the three best predicted is 11. */
static void regret_of_four(void **state)
{
    (void)state;
    static const double measured[] = {12, 15, 11, 10}, predicted[] = {1, 2, 3, 4};
    assert_float_equal(adept_regret(measured, predicted, 4, 1), 20, 1e-9);
    assert_float_equal(adept_regret(measured, predicted, 4, 3), 10, 1e-9);
    assert_float_equal(adept_regret(measured, predicted, 4, 4), 0, 1e-9);
    static const double ties[] = {1, 1, 1, 1}; /* the first of equals is chosen */
    assert_float_equal(adept_regret(measured, ties, 4, 1), 20, 1e-9);
    assert_true(isnan(adept_regret(measured, predicted, 0, 1)));
}

/* ---- architectures ---- */

#define HEADER                                                                                                         \
    "model,step_time_s,seq_length,micro_batch,global_batch,gpus,gpu,tp,layers,hidden,heads,kv_heads,ffn,vocab,family," \
    "gated,head_dim,params,experts,top_k,expert_ffn,shared_experts\n"

static void architectures(void **state)
{
    (void)state;
    static const struct {
        const char *cells, *spec;
        unsigned unsaid;
    } cases[] = {
        /* named, with everything said; 2 tables of 32000 x 64 and the block are 4,200,000 and some */
        {"2,64,4,2,128,32000,llama,1,16,4200000,,,,",
         "adept:llama?layers=2&hidden=64&heads=4&kv_heads=2&head_dim=16&ffn=128&vocab=32000&tied=false", 0},
        {"2,64,4,2,128,32000,llama,1,16,2150000,,,,",
         "adept:llama?layers=2&hidden=64&heads=4&kv_heads=2&head_dim=16&ffn=128&vocab=32000&tied=true", 0},
        /* a name that nobody knows goes by the gate; without one it is GPT's kind, or Nemotron's with grouped queries
         */
        {"2,64,4,4,128,32000,aquila,1,,,,,,",
         "adept:llama?layers=2&hidden=64&heads=4&kv_heads=4&head_dim=16&ffn=128&vocab=32000", 0},
        {"2,64,4,,256,32000,bloom,0,,,,,,",
         "adept:gpt2?layers=2&hidden=64&heads=4&head_dim=16&ffn=256&vocab=32000&positions=32", 0},
        {"2,64,4,2,256,32000,wise,0,,,,,,",
         "adept:nemotron?layers=2&hidden=64&heads=4&kv_heads=2&head_dim=16&ffn=256&vocab=32000", 0},
        {"2,64,4,,256,32000,bert,0,,,,,,",
         "adept:bert?layers=2&hidden=64&heads=4&kv_heads=4&head_dim=16&ffn=256&vocab=32000&positions=32", 0},
        /* experts, with and without shared ones */
        {"2,64,4,2,128,32000,grok,1,,,8,2,96,",
         "adept:mixtral?layers=2&hidden=64&heads=4&kv_heads=2&head_dim=16&ffn=128&vocab=32000&experts=8&topk=2&expert_"
         "ffn=96",
         0},
        {"2,64,4,2,128,32000,qwen,1,32,,8,2,96,",
         "adept:qwen3_moe?layers=2&hidden=64&heads=4&kv_heads=2&head_dim=32&ffn=128&vocab=32000&experts=8&topk=2&"
         "expert_ffn=96",
         0},
        {"2,64,4,4,128,32000,qwen,1,,,8,2,96,4",
         "adept:qwen2_moe?layers=2&hidden=64&heads=4&kv_heads=4&head_dim=16&ffn=128&vocab=32000&experts=8&topk=2&"
         "expert_ffn=96&shared_ffn=384",
         0},
        /* not said: two heads of 128; 4 x 256; the vocabulary of GPT-2 in multiples of 128 x 2: 50432 */
        {"2,256,,,,,gpt,0,,,,,,",
         "adept:gpt2?layers=2&hidden=256&heads=2&head_dim=128&ffn=1024&vocab=50432&positions=32",
         ADEPT_UNSAID_HEADS | ADEPT_UNSAID_FFN | ADEPT_UNSAID_VOCAB},
        /* no word of a gate: none where ffn is 4 times hidden; experts as wide as ffn, one group of them */
        {"2,64,4,4,256,32000,wise,,,,,,,",
         "adept:gpt2?layers=2&hidden=64&heads=4&kv_heads=4&head_dim=16&ffn=256&vocab=32000&positions=32",
         ADEPT_UNSAID_GATED},
        {"2,64,4,2,256,32000,wise,,,,8,2,,",
         "adept:mixtral?layers=2&hidden=64&heads=4&kv_heads=2&head_dim=16&ffn=256&vocab=32000&experts=8&topk=2&expert_"
         "ffn=256",
         ADEPT_UNSAID_GATED | ADEPT_UNSAID_EXPERT_FFN},
        /* 50257 cannot be halved */
        {"2,64,4,,256,50257,gpt,0,,,,,,",
         "adept:gpt2?layers=2&hidden=64&heads=4&head_dim=16&ffn=256&vocab=50432&positions=32", ADEPT_UNSAID_PADDING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[900];
        adept_error err = {0};
        snprintf(text, sizeof text, HEADER "m,1,32,1,2,2,a100,2,%s\n", cases[i].cells);
        adept_dataset *d = parse(text);
        assert_int_equal(adept_dataset_select_own(d, &err), ADEPT_OK);
        if (adept_dataset_profiles(d, NULL, &err) != ADEPT_OK) fail_msg("%s: %s", cases[i].cells, err.message);
        if (d->n != 1) fail_msg("%s: %s", cases[i].cells, d->unused[0].why);
        assert_string_equal(d->rows[0].model_path, cases[i].spec);
        assert_int_equal(d->rows[0].unsaid &
                             (ADEPT_UNSAID_HEADS | ADEPT_UNSAID_FFN | ADEPT_UNSAID_VOCAB | ADEPT_UNSAID_PADDING |
                              ADEPT_UNSAID_GATED | ADEPT_UNSAID_EXPERT_FFN),
                         cases[i].unsaid);
        assert_true(d->rows[0].profile->params > 0);
        adept_dataset_free(d);
    }
}

/* What cannot be built is listed by its line, and leaves the others alone. */
static void architectures_listed(void **state)
{
    (void)state;
    static const char text[] = HEADER "m,1,32,1,2,2,a100,2,2,64,4,2,128,32000,llama,1,16,,,,,\n"
                                      "m,1,32,1,2,2,a100,2,-2,64,4,2,128,32000,llama,1,16,,,,,\n"
                                      "m,1,32,1,2,2,a100,2,2,64,4,2,128,32000,llama,1,16,,8,,,\n"
                                      "m,1,32,1,2,2,a100,2,2,64,4,2,128,32000,llama,0,16,,8,2,64,\n"
                                      "m,1,32,1,2,2,a100,2,2,64,4,2,128,32000,llama,maybe,16,,,,,\n"
                                      "m,1,32,1,2,2,a100,2,0,64,4,2,128,32000,llama,1,16,,,,,\n"
                                      "m,1,32,1,2,2,a100,2,,64,4,2,128,32000,llama,1,16,,,,,\n"
                                      "m,1,32,1,2,2,a100,2,2,64,3,2,128,32000,llama,1,,,,,,\n"
                                      "moe,1,32,1,2,2,a100,2,2,64,4,2,128,32000,llama,1,,,,,,\n"
                                      "m,1,32,1,2,2,a1000,2,2,64,4,2,128,32000,llama,1,16,,,,,\n"
                                      "m,-1,32,1,2,2,a100,2,2,64,4,2,128,32000,llama,1,16,,,,,\n"
                                      "m,,32,1,2,2,a100,2,2,64,4,2,128,32000,llama,1,16,,,,,\n"
                                      "m,1,32,1,2\n";
    static const char *const why[] = {
        "column layers: '-2' is not a whole number from 0 to 2^53",
        "column top_k: is empty, though there are experts",
        "column gated: is 0: adept builds experts with gates only",
        "column gated: 'maybe' is not 0 or 1",
        "column layers: is 0",
        "column model: 'm' is neither a file relative to the CSV nor a bundled model, and layers or hidden are empty; ",
        "adept:llama?layers=2&hidden=64&heads=3&kv_heads=2",
        "column experts: is empty, though the row is of a mixture of experts",
        "column gpu: unknown GPU 'a1000'",
        "column step_time_s: -1 is not above 0",
        "column step_time_s: is empty, and so is avg_power_w: the row measures nothing",
        "5 cells, but the header has 22",
    };
    adept_error err = {0};
    adept_dataset *d = parse(text);
    assert_int_equal(adept_dataset_select_own(d, &err), ADEPT_OK);
    assert_int_equal(adept_dataset_profiles(d, NULL, &err), ADEPT_OK);
    assert_int_equal(adept_dataset_sort_unused(d, &err), ADEPT_OK);
    assert_int_equal(d->n, 1);
    assert_int_equal(d->n_unused, sizeof why / sizeof *why);
    for (size_t i = 0; i < d->n_unused; i++) {
        assert_int_equal(d->unused[i].line, i + 3);
        assert_string_equal(d->unused[i].file, "l.csv");
        if (strncmp(d->unused[i].why, why[i], strlen(why[i])) != 0) fail_msg("line %zu: %s", i + 3, d->unused[i].why);
    }
    adept_dataset_free(d);
}

/* ---- words ---- */

static void words_of_rows(void **state)
{
    (void)state;
    static const char header[] =
        "model,step_time_s,layers,gpus,dp,fsdp,attention,activation_checkpoint,sequence_parallel,vp,tp,pp,stack\n";
    static const struct {
        const char *cells;
        int fsdp, zero, attention, checkpoint, trainer;
        bool sp;
        int64_t virtual_stages;
    } cases[] = {
        {"8,8,FULL_SHARD,flash,full:uniform:1,,,,,", ADEPT_FSDP_FULL, 0, ADEPT_ATTENTION_FUSED, ADEPT_RECOMPUTE_FULL, 0,
         false, 1},
        {"8,8,SHARD_GRAD_OP,te-default,selective-op,,,,,torchtitan", ADEPT_FSDP_GRAD, 0, ADEPT_ATTENTION_FUSED,
         ADEPT_RECOMPUTE_SELECTIVE, 0, false, 1},
        {"16,16,HYBRID_SHARD,unfused,selective:norm;act,,,,,", ADEPT_FSDP_HYBRID | 8 << 4, 0, ADEPT_ATTENTION_EAGER,
         ADEPT_RECOMPUTE_SELECTIVE, 0, false, 1},
        {"8,8,none,auto,selective:layernorm;moe,,,,,", 0, 0, ADEPT_ATTENTION_AUTO, ADEPT_RECOMPUTE_SELECTIVE, 0, false,
         1},
        {"8,8,none,local,none,,,,,nemo", 0, 2, ADEPT_ATTENTION_EAGER, 0, ADEPT_TRAINER_NEMO, false, 1},
        {"8,8,zero3,fused:fa2,full,,,,,xtuner", 0, 4, ADEPT_ATTENTION_FUSED, ADEPT_RECOMPUTE_FULL,
         ADEPT_TRAINER_DEEPSPEED, false, 1},
        {"16,16,zero1_group8,auto,none,,,,,", ADEPT_FSDP_HYBRID | 8 << 4, 2, ADEPT_ATTENTION_AUTO, 0, 0, false, 1},
        {"8,2,none,auto,none,1,2,2,2,Megatron-DeepSpeed", 0, 2, 0, 0, ADEPT_TRAINER_DEEPSPEED, true, 2},
        {"8,8,ZeRO-3,FlashAttention-2,True,,,,,", 0, 4, ADEPT_ATTENTION_FUSED, ADEPT_RECOMPUTE_FULL, 0, false, 1},
        {"8,8,zero_stage_2,FA3,False,,,,,", 0, 3, ADEPT_ATTENTION_FUSED, 0, 0, false, 1},
        {"8,8,DDP,te,full:uniform:4,,,,,", 0, 0, ADEPT_ATTENTION_FUSED, ADEPT_RECOMPUTE_FULL, 0, false, 1},
        {"8,8,ZeRO Stage 1 (group 4),math,SAC,-,n/a,None,NA,", ADEPT_FSDP_HYBRID | 4 << 4, 2, ADEPT_ATTENTION_EAGER,
         ADEPT_RECOMPUTE_SELECTIVE, 0, false, 1},
        {"8,8,DistOpt,SDPA,core_attn,disabled,,,,", 0, 2, ADEPT_ATTENTION_FUSED, ADEPT_RECOMPUTE_SELECTIVE, 0, false,
         1},
        {"8,8,fully_shard,cudnn,Full recompute,,,,,", ADEPT_FSDP_FULL, 0, ADEPT_ATTENTION_FUSED, ADEPT_RECOMPUTE_FULL,
         0, false, 1},
        {"8,8,zero0,,,,,,,nemo", 0, 1, 0, 0, ADEPT_TRAINER_NEMO, false, 1}, /* said: not what is usual in the stack */
        {"8,8,ZeRO 0,,,,,,,nemo", 0, 1, 0, 0, ADEPT_TRAINER_NEMO, false, 1},
        {"8,8,ZeRO Stage 0,,,,,,,nemo", 0, 1, 0, 0, ADEPT_TRAINER_NEMO, false, 1},
        {"8,8,stage0,,,,,,,nemo", 0, 1, 0, 0, ADEPT_TRAINER_NEMO, false, 1},
        {"8,8,DeepSpeed ZeRO-0,,,,,,,nemo", 0, 1, 0, 0, ADEPT_TRAINER_NEMO, false, 1},
        {"8,1,zero1,auto,none,1,,1,8,", 0, 0, 0, 0, 0, false, 1}, /* nobody to share with; sp does nothing without tp */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text, "%sm,1,2,%s\n", header, cases[i].cells);
        adept_dataset *d = parse(text);
        if (d->n != 1) fail_msg("%s", d->unused[0].why);
        const adept_dataset_row *m = &d->rows[0];
        assert_int_equal(m->run.fsdp, cases[i].fsdp);
        assert_int_equal(m->run.zero, cases[i].zero);
        assert_int_equal(m->attention, cases[i].attention);
        assert_int_equal(m->run.activation_checkpoint, cases[i].checkpoint);
        assert_int_equal(m->run.trainer, cases[i].trainer);
        assert_int_equal(m->run.sp, cases[i].sp);
        assert_int_equal(m->run.virtual_stages, cases[i].virtual_stages);
        adept_dataset_free(d);
    }
    static const char *const refused[] = {"8,8,zero4,,,,,,,", "8,8,zero1_group,,,,,,,", "8,8,sharded,,,,,,,",
                                          "8,8,,flashy,,,,,,", "8,8,,,list,,,,,",    "8,8,1,,,,,,,",
                                          "8,8,zero-,,,,,,,",  "8,8,,,block,,,,,"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[400];
        snprintf(text, sizeof text, "%sm,1,2,%s\n", header, refused[i]);
        adept_dataset *d = parse(text);
        assert_int_equal(d->n, 0);
        assert_int_equal(d->n_unused, 1);
        assert_non_null(strstr(d->unused[0].why, "' is not one of "));
        adept_dataset_free(d);
    }
}

/* Memory by other units is that of peak_memory_bytes, which counts where both stand. */
static void units_of_memory(void **state)
{
    (void)state;
    static const struct {
        const char *columns, *cells;
        double bytes;
    } cases[] = {
        {"peak_memory_gb", "61.5", 61.5e9},
        {"peak_memory_GiB", "61.5", 61.5 * 0x1p30},
        {"peak_memory_mb", "61500", 61.5e9},
        {"peak_memory_mib", "1024", 0x1p30},
        {"peak_memory_gb,peak_memory_bytes", "61.5,6.1538e10", 6.1538e10},
        {"peak_memory_gb,peak_memory_gib", "61.5,57.3", 61.5e9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "model,layers,step_time_s,%s\nm,2,1,%s\n", cases[i].columns, cases[i].cells);
        adept_dataset *d = parse(text);
        assert_int_equal(d->n, 1);
        assert_true(d->rows[0].peak_memory_bytes == cases[i].bytes);
        assert_true(strtod(adept_dataset_row_text(&d->rows[0], "peak_memory_bytes"), NULL) == cases[i].bytes);
        adept_dataset_free(d);
    }
    adept_dataset *d = parse("model,layers,peak_memory_gb\nm,2,-1\nm,2,80\n"); /* memory alone is a measurement */
    assert_int_equal(d->n, 1);
    assert_int_equal(d->n_unused, 1);
    assert_non_null(strstr(d->unused[0].why, "peak_memory_bytes: -1 is not above 0"));
    adept_dataset_free(d);
}

/* Columns as trainers call them, and other words in those that are no layout's. */
static void names_of_columns(void **state)
{
    (void)state;
    adept_dataset *d = parse(
        "model,step_time_s,peak_memory_bytes,gpus,num_layers,hidden_size,GBS,MBS,tensor_model_parallel_size,"
        "pipeline_parallel,vpp,zero_stage,recompute,mode,status,optimizer,precision,schedule\n"
        "m,1,,16,4, 64 ,8,2,2,2,2,1,full,pre-training,Success,decoupled_adamw,BF16 (true),Interleaved 1F1B\n"
        "m,,,16,4,64,8,2,2,2,None,0,-,Pretrain,CUDA out of memory,distributed_fused_adam,fp8 current scaling,"
        "1F1B (non-interleaved)\n"
        "m,1,,16,4,64,8,2,2,2,,0,,fly,,,,\n");
    assert_int_equal(d->n, 2);
    for (size_t i = 0; i < d->n; i++) {
        const adept_dataset_row *m = &d->rows[i];
        assert_true(m->layouts && m->run.tp == 2 && m->run.pp == 2 && m->batch_size == 2 && m->run.global_batch == 8);
        assert_int_equal(m->grad_accum, 1); /* 8 / (2 x dp 4) */
        assert_int_equal(m->mode, ADEPT_MODE_TRAIN);
        assert_int_equal(m->run.virtual_stages, i == 0 ? 2 : 1);
        assert_int_equal(m->run.zero, i == 0 ? 2 : 1);
        assert_int_equal(m->status, i == 0 ? ADEPT_ROW_OK : ADEPT_ROW_OOM);
        assert_int_equal(m->precision, i == 0 ? ADEPT_PURE_BF16 : ADEPT_FP8);
        assert_string_equal(m->optimizer, i == 0 ? "adamw" : "adam");
    }
    assert_int_equal(d->n_unused, 1);
    assert_non_null(strstr(d->unused[0].why, "column mode: 'fly' is not one of"));
    adept_dataset_free(d);
}

/* A batch in tokens, throughputs, and rows that contradict themselves. */
static void tokens(void **state)
{
    (void)state;
    adept_dataset *d = parse(
        "model,step_time_s,layers,hidden,gpus,dp,seq_length,micro_batch,global_batch,global_batch_tokens,"
        "tokens_per_s_per_gpu\n"
        "m,2,2,64,8,8,512,2,,32768,\n"       /* 64 sequences */
        "m,2,2,64,8,8,512,2,,,2040\n"        /* 2040 x 8 x 2 / 512 = 63.75: the nearest multiple of 16 is 64 */
        "m,,2,64,8,8,512,2,64,,2048\n"       /* 64 x 512 / (2048 x 8) = 2 s */
        "m,2,2,64,8,8,512,2,32768,,2048\n"   /* tokens, says the throughput */
        "m,2,2,64,8,8,512,2,64,,4096\n"      /* 1 s */
        "m,2,2,64,8,8,512,2,4194304,,\n"
        "m,2,2,64,8,8,512,2,,4M,\n");
    assert_int_equal(d->n, 4);
    for (size_t i = 0; i < d->n; i++) {
        assert_int_equal(d->rows[i].run.global_batch, 64);
        assert_int_equal(d->rows[i].grad_accum, 4);
        assert_float_equal(d->rows[i].step_time_s, 2, 1e-12);
        assert_int_equal(d->rows[i].unsaid & ADEPT_UNSAID_GLOBAL_BATCH, 0);
    }
    static const char *const why[] = {
        "column global_batch: 64 sequences of 512 tokens would take 1 s by tokens_per_s_per_gpu",
        "column global_batch: 4194304 sequences: tokens stand in a column global_batch_tokens",
        "column global_batch_tokens: '4M' is not a number from 0 on"};
    assert_int_equal(d->n_unused, 3);
    for (size_t i = 0; i < d->n_unused; i++)
        assert_string_equal(d->unused[i].why, why[i]);
    adept_dataset_free(d);
}

/* Passes of a step, GPUs and micro-batches that no cell says. */
static void unsaid(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s,layers,hidden,gpus,dp,tp,pp,micro_batch,global_batch,activation_"
                             "checkpoint,input,status,peak_memory_bytes\n"
                             "m,1,2,64,16,2,4,2,2,32,none,i64:Bx512,,\n" /* 32 / (2 x 2) = 8 passes */
                             "m,1,2,64,,2,2,2,,,,i64:Bx512,ok,\n" /* 8 GPUs; micro-batch 1; as many passes as stages */
                             "m,1,2,64,,,1,2,1,8,full,,,\n"       /* a node: dp 4, 2 passes */
                             "m,,2,64,8,,1,1,1,8,full,,oom,\n"    /* memory ran out: that is measured */
                             "m,,2,64,8,,1,1,1,8,full,,,1e9\n");
    adept_dataset *shared =
        parse("model,step_time_s,layers,hidden,tp,pp,fsdp\nm,1,2,64,8,1,zero1\nm,1,2,64,8,1,none\n");
    assert_true(shared->rows[0].run.gpus == 16 && shared->rows[1].run.gpus == 8); /* shards are of two at least */
    adept_dataset_free(shared);
    static const struct {
        int64_t accum, gpus, batch, length;
        unsigned unsaid;
    } expected[] = {{8, 16, 2, 512, 0},
                    {2, 8, 1, 512, ADEPT_UNSAID_MICRO_BATCH | ADEPT_UNSAID_GLOBAL_BATCH | ADEPT_UNSAID_RECOMPUTATION},
                    {2, 8, 1, 0, ADEPT_UNSAID_GPUS},
                    {1, 8, 1, 0, 0},
                    {1, 8, 1, 0, 0}};
    assert_int_equal(d->n, 5);
    for (size_t i = 0; i < d->n; i++) {
        assert_int_equal(d->rows[i].grad_accum, expected[i].accum);
        assert_int_equal(d->rows[i].run.gpus, expected[i].gpus);
        assert_int_equal(d->rows[i].batch_size, expected[i].batch);
        assert_int_equal(d->rows[i].seq_length, expected[i].length);
        assert_int_equal(d->rows[i].unsaid &
                             ~(unsigned)(ADEPT_UNSAID_OVERLAP | ADEPT_UNSAID_SHARDING | ADEPT_UNSAID_NETWORK |
                                         ADEPT_UNSAID_OPTIMIZER | ADEPT_UNSAID_WEIGHTS | ADEPT_UNSAID_PRECISION |
                                         ADEPT_UNSAID_EP),
                         expected[i].unsaid);
    }
    assert_int_equal(d->rows[3].status, ADEPT_ROW_OOM);
    assert_true(d->rows[4].peak_memory_bytes == 1e9 && isnan(d->rows[4].step_time_s));
    adept_dataset_free(d);
}

/* Between nodes of boards without a usual server lies what joins servers of boards in slots, in rows. */
static void network_unsaid(void **state)
{
    (void)state;
    static const char *const boards[] = {"h100-sxm-80gb", "mi300x", "gh200", "gb200", "l40s", "a100-pcie-80gb"};
    adept_error err = {0};
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "model,step_time_s,gpu,layers,hidden,heads,ffn,vocab,family,seq_length,gpus,dp\n"
                 "m,1,%s,2,64,4,128,32000,llama,32,16,16\n",
                 boards[i]);
        adept_dataset *d = parse(text);
        assert_int_equal(adept_dataset_select_own(d, &err), ADEPT_OK);
        assert_int_equal(adept_dataset_profiles(d, NULL, &err), ADEPT_OK);
        if (d->n != 1) fail_msg("%s: %s", boards[i], d->unused[0].why);
        const char *node = adept_node_name((size_t)d->rows[0].run.node);
        assert_string_equal(node, i < 4 ? "none" : "pcie-8");
        assert_true(d->rows[0].unsaid & ADEPT_UNSAID_NETWORK);
        adept_dataset_free(d);
    }
}

/* Of 16 bits, and of those that the board has; a row that says it is left alone. */
static void precision_unsaid(void **state)
{
    (void)state;
    static const char text[] = "model,step_time_s,gpu,layers,hidden,heads,ffn,vocab,family,seq_length,precision,fsdp\n"
                               "m,1,A100-80GB,2,64,4,128,32000,llama,32,,none\n"
                               "m,1,a100 80GB,2,64,4,128,32000,llama,32,,full\n"
                               "m,1,V100 32GB,2,64,4,128,32000,llama,32,,none\n"
                               "m,1,v100-sxm2-32gb,2,64,4,128,32000,llama,32,,full\n"
                               "m,1,a100-sxm-80gb,2,64,4,128,32000,llama,32,fp32,none\n"
                               "m,1,A100-PCIe,2,64,4,128,32000,llama,32,,none\n";
    static const adept_precision expected[] = {ADEPT_AMP_BF16, ADEPT_PURE_BF16, ADEPT_AMP_FP16, ADEPT_PURE_FP16,
                                               ADEPT_FP32};
    adept_dataset *d = parse(text);
    adept_error err = {0};
    assert_int_equal(adept_dataset_select_own(d, &err), ADEPT_OK);
    assert_int_equal(d->n, 5);
    for (size_t i = 0; i < d->n; i++) {
        assert_int_equal(d->rows[i].precision, expected[i]);
        assert_int_equal(!!(d->rows[i].unsaid & ADEPT_UNSAID_PRECISION), i < 4);
        assert_string_equal(d->rows[i].hw->name, i == 2 || i == 3 ? "v100-sxm2-32gb" : "a100-sxm-80gb");
        assert_ptr_equal(d->rows[i].hw, d->rows[i == 2 || i == 3 ? 2 : 0].hw); /* one board, however it is written */
    }
    assert_int_equal(d->n_unused, 1);
    assert_non_null(strstr(d->unused[0].why, "unknown GPU 'A100-PCIe'"));
    assert_int_equal(d->n_warnings, 3); /* once for each way of writing it */
    assert_non_null(strstr(d->warnings[0], "'A100-80GB' is taken as a100-sxm-80gb"));
    adept_dataset_free(d);
    /* of a board that was asked for, rows that mean it are its own */
    adept_hwprofile *hw = NULL;
    assert_int_equal(adept_hwprofile_open(&hw, "a100-sxm-80gb", &err), ADEPT_OK);
    d = parse(text);
    assert_int_equal(adept_dataset_select_gpu(d, hw, NULL, &err), ADEPT_OK);
    assert_int_equal(d->n, 3);
    adept_dataset_free(d);
    adept_hwprofile_free(hw);
}

static void is_by_stage(const adept_stage_list *list, size_t n, const int *expected)
{
    assert_int_equal(list->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(list->at[i], expected[i]);
}
#define IS_BY_STAGE(list, ...)                                                                                         \
    is_by_stage(&(list), sizeof((const int[]){__VA_ARGS__}) / sizeof(int), (const int[]){__VA_ARGS__})

/* Blocks, clocks and limits of each stage: Perseus's rows, which measured the times of 7, 6, 6, 5 and 6, 6, 7, 5. */
static void by_stage(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s,layers,hidden,tp,pp,dp,partition,clock_plan,notes\n"
                             "m,1,24,64,1,4,1,custom:0/8/14/20/26,1050-1065-1410/1065/1410-1410-1410/1410,\n"
                             "m,1,24,64,1,4,1,custom:0/8/14/21/27,1410/1410-1410-1410/1405/1410,x=1;"
                             "per_stage_power_limit_w=225/225/300/250\n"
                             "m,1,24,64,1,4,1,uniform_transformer,,per_stage_power_limit_w=225/225/300\n"
                             "m,1,24,64,1,4,1,custom:0/8/8/20/26,,\n"
                             "m,1,24,64,1,4,1,custom:0/8/14/20/23,,\n"
                             "m,1,24,64,1,2,1,0/12/24,,\n"
                             "m,1,24,64,1,2,1,0/12/99999999999999999999,,\n"
                             "m,1,24,64,1,4,1,,1/x/3/4,\n");
    assert_int_equal(d->n, 7);
    assert_int_equal(d->rows[6].run.stage_blocks.n, 0);
    assert_int_equal(d->n_unused, 1);
    assert_non_null(strstr(d->unused[0].why, "column clock_plan: '1/x/3/4' is not a list of clocks in MHz"));
    IS_BY_STAGE(d->rows[0].run.stage_blocks, 7, 6, 6, 5);
    IS_BY_STAGE(d->rows[0].run.stage_clocks_mhz, 1065, 1065, 1410, 1410);
    assert_true(d->rows[0].run.clock_hz == 0);
    IS_BY_STAGE(d->rows[1].run.stage_blocks, 6, 6, 7, 5);
    IS_BY_STAGE(d->rows[1].run.stage_limits_w, 225, 225, 300, 250);
    assert_float_equal(d->rows[1].run.clock_hz, 1408.75e6, 1); /* they hardly differ */
    assert_int_equal(d->rows[1].unsaid & ADEPT_UNSAID_PARTITION, 0);
    for (size_t i = 2; i < 5; i++) {
        assert_int_equal(d->rows[i].run.stage_blocks.n + d->rows[i].run.stage_limits_w.n, 0);
        assert_int_equal(!!(d->rows[i].unsaid & ADEPT_UNSAID_PARTITION), i > 2);
    }
    IS_BY_STAGE(d->rows[5].run.stage_blocks, 12, 12);
    adept_dataset_free(d);
    d = parse("model,step_time_s,num_layers,hidden_size,tp,pp,dp,partition\nm,1,24,64,1,2,1,0/10/24\n");
    IS_BY_STAGE(d->rows[0].run.stage_blocks, 10, 14);
    adept_dataset_free(d);
}

/* What notes alone say: an optimizer in 8 bits, a loss in chunks, which later techniques keep. */
static void noted(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s,layers,optimizer,precision,notes\n"
                             "m,1,2,adam,fp8:row,bnb 8-bit optimizer\nm,1,2,sgd,fp8-te,bnb 8-bit optimizer\n"
                             "m,1,2,adamw,mxfp8,cumulative techniques: +compile;x\n"
                             "m,1,2,adamw,nvfp4,cumulative techniques: +activation checkpointing\n"
                             "m,1,2,adamw,fp8:column,\n");
    static const adept_precision precisions[] = {ADEPT_FP8_ROW, ADEPT_FP8, ADEPT_MXFP8, ADEPT_NVFP4};
    assert_int_equal(d->n, 4);
    assert_non_null(strstr(d->unused[0].why, "column precision: 'fp8:column' is not one of fp32, "));
    for (size_t i = 0; i < d->n; i++)
        assert_int_equal(d->rows[i].precision, precisions[i]);
    assert_string_equal(d->rows[0].optimizer, "adamw8bit");
    assert_string_equal(d->rows[1].optimizer, "sgd");
    assert_int_equal(d->rows[2].run.loss, 0);
    assert_int_equal(d->rows[3].run.loss, ADEPT_LOGITS_CHUNKED);
    adept_dataset_free(d);
}

/* The same in two columns, and not the same. */
static void said_twice(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s,layers,batch_size,micro_batch,fsdp,sharding,gpus\n"
                             "m,1,2,4,4,full,FULL_SHARD,8\nm,1,2,4,8,,,8\nm,1,2,4,,grad,FULL_SHARD,8\n");
    assert_int_equal(d->n, 1);
    assert_int_equal(d->n_unused, 2);
    assert_string_equal(d->unused[0].why, "column micro_batch: '8' is not 4, the row's batch_size");
    assert_string_equal(d->unused[1].why, "column sharding: 'FULL_SHARD' is not grad, the row's fsdp");
    adept_dataset_free(d);
}

/* ---- factors, choices, memory ---- */

/* Two stacks of two sources; factors are medians of measured over predicted. */
static void report(void **state)
{
    (void)state;
    static const struct {
        const char *stack, *source;
        double measured_s, predicted_s, ideal_s, peak, memory;
        int status;
    } rows[] = {
        {"a", "x", 2.0, 1.0, 1.0, 50, 55, ADEPT_ROW_OK},  /* 2 */
        {"a", "x", 6.0, 2.0, 2.0, 95, 97, ADEPT_ROW_OK},  /* 3 */
        {"a", "y", 4.0, 1.0, 1.0, 92, 101, ADEPT_ROW_OK}, /* 4; near, and told wrong */
        {"b", "x", 1.0, 1.0, 4.0, NAN, 120, ADEPT_ROW_OOM}, {"b", "x", 1.1, 1.0, 5.0, NAN, 0, ADEPT_ROW_OK},
    };
    adept_arena *arena = adept_arena_new();
    adept_dataset_row measured[5];
    adept_scored scored[5];
    adept_columns columns = {0};
    adept_hwprofile hw = {.name = "board"};
    adept_layout_report *r = NULL;
    adept_evaluation *e = NULL;
    for (size_t i = 0; i < 5; i++) {
        measured[i] = (adept_dataset_row){.stack = rows[i].stack,
                                          .source = rows[i].source,
                                          .step_time_s = rows[i].measured_s,
                                          .power_avg_w = NAN,
                                          .peak_memory_bytes = rows[i].peak,
                                          .status = rows[i].status,
                                          .hw = &hw,
                                          .model_name = "m",
                                          .columns = &columns,
                                          .seq_length = 10,
                                          .file = "l.csv",
                                          .profile = (const adept_profile *)&measured[i] /* one of its own */};
        measured[i].run.gpus = 4;
        scored[i] = (adept_scored){.measured = &measured[i],
                                   .time_s = rows[i].predicted_s,
                                   .power_w = NAN,
                                   .time_low_s = NAN,
                                   .time_high_s = NAN,
                                   .power_low_w = NAN,
                                   .power_high_w = NAN,
                                   .memory_bytes = rows[i].memory,
                                   .fullest_bytes = rows[i].memory,
                                   .capacity_bytes = 100,
                                   .samples = 8,
                                   .ideal_s = rows[i].ideal_s};
    }
    assert_int_equal(adept_evaluation_of(&e, arena, scored, 5, NULL, 0, NULL), ADEPT_OK);
    assert_int_equal(adept_layout_report_new(&r, arena, e, NULL), ADEPT_OK);
    assert_int_equal(r->n_stacks, 2);
    assert_float_equal(r->stacks[0].factor, 3, 1e-12);         /* of 2, 3 and 4 */
    assert_float_equal(r->stacks[1].factor, sqrt(1.1), 1e-12); /* of 1 and 1.1, in logarithms */
    /* as it is: 50, 66.7 and 75 % too low */
    assert_float_equal(r->stacks[0].errors.as_is.mape, (50 + 200 / 3.0 + 75) / 3, 1e-9);
    assert_float_equal(r->stacks[0].errors.as_is.bias, -(50 + 200 / 3.0 + 75) / 3, 1e-9);
    /* by the others' median: 3.5 of 2, 3 x 2 of 6, 2.5 of 4 */
    assert_float_equal(r->stacks[0].errors.factor.mape, (75 + 0 + 37.5) / 3, 1e-9);
    /* without its source: 4 of 2, 4 x 2 of 6, by the row of source y; 2.5 of 4 by those of x */
    assert_float_equal(r->stacks[0].errors.source_left.mape, (100 + 100 / 3.0 + 37.5) / 3, 1e-9);
    /* b has no other source: stack a, of source y, is 4 */
    assert_float_equal(r->stacks[1].errors.source_left.max, 300, 1e-9);
    /* floors are the same as with ideal_s in place of predictions; those of a are equal here */
    assert_float_equal(r->stacks[0].errors.floor.mape, (75 + 0 + 37.5) / 3, 1e-9);
    assert_int_equal(r->n_sources, 2);
    assert_int_equal(r->by_source[0].as_is.n, 4);
    /* one model, GPUs and work; of source x 2, 6, 1, 1.1, predicted 1, 2, 1, 1: all six pairs are further apart than 5
     * %; in order are 2-6, 6-1, 6-1.1; the others are predicted equal */
    assert_int_equal(r->choices[0].n, 1); /* of source y there is but one row */
    assert_int_equal(r->choices[0].choices[0].over_5.n_pairs, 6);
    assert_float_equal(r->choices[0].choices[0].over_5.tau, 3 / 6.0, 1e-12);
    assert_float_equal(r->choices[0].over_5.tau, 3 / 6.0, 1e-12);
    /* the first of those predicted best is measured 2, and among three is 1 */
    assert_float_equal(r->choices[0].regret_1, 100, 1e-9);
    assert_float_equal(r->choices[0].regret_3, 0, 1e-12);
    /* memory: 4 rows say; tight are 95, 92 and the one that ran out */
    assert_int_equal(r->room.n, 4);
    assert_int_equal(r->room.n_right, 3);
    assert_int_equal(r->room.n_tight, 3);
    assert_int_equal(r->room.n_tight_right, 2);
    assert_float_equal(e->overall.memory.mape, (10 + 200 / 95.0 + 900 / 92.0) / 3, 1e-9);
    adept_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_four), cmocka_unit_test(regret_of_four),
        cmocka_unit_test(architectures), cmocka_unit_test(architectures_listed),
        cmocka_unit_test(words_of_rows), cmocka_unit_test(units_of_memory), cmocka_unit_test(names_of_columns),
        cmocka_unit_test(tokens),        cmocka_unit_test(unsaid),
        cmocka_unit_test(precision_unsaid), cmocka_unit_test(network_unsaid),
        cmocka_unit_test(by_stage),      cmocka_unit_test(noted),
        cmocka_unit_test(said_twice),    cmocka_unit_test(report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
