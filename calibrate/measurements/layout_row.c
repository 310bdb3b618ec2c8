/** @file layout_row.c  Rows of layouts: what other programs call adept's words, and what a row does not say. */
#include "adept_layout.h"
#include "adept_number.h"
#include "dataset_private.h"
#include "nearest.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_NODE_GPUS 8 /* DGX, HGX and their like */

/* ---- words ---- */

/* Letters and digits count, and ':' and ';': "ZeRO-3", "zero_3" and "zero 3" are zero3. */
static const struct {
    const char *column, *rows, *program;
} words[] = {
    {"fsdp", "none noshard nosharding ddp dp no off false 0 disabled", "none"},
    {"fsdp", "full fsdp fsdp1 fsdp2 fullshard fullyshard fullysharded true yes on", "full"},
    {"fsdp", "grad shardgradop", "grad"},
    {"fsdp", "hybrid hybridshard hsdp", "hybrid:8"},
    {"fsdp", "distributedoptimizer distopt shardedoptimizer", "zero1"},
    {"activation_checkpoint", "none no off false 0 disabled norecompute norecomputation", "none"},
    {"activation_checkpoint",
     "full true yes on 1 all uniform fullrecompute fullrecomputation fullac fullcheckpointing "
     "fullactivationcheckpointing fullactivationcheckpoint alllayers everylayer",
     "full"},
    {"activation_checkpoint",
     "selective selectiveop selectiveac sac op opselective peropsac selectiverecompute selectiverecomputation "
     "selectiveactivationcheckpointing selectivecheckpointing coreattn coreattention",
     "selective"},
    {"attention",
     "fa flashattn flashattn2 flashattn3 flashattention flashattention2 flashattention3 flash2 flash3 fa1 fa2 fa3 "
     "te transformerengine cudnn xformers memoryefficient memefficient flex flexattention splash triton",
     "fused"},
    {"attention", "math naive standard vanilla", "eager"},
    {"mode", "pretrain pretraining training", "train"},
    {"precision", "torchbfloat16 bf16mixed mixedbf16 bfloat16mixed mixedbfloat16 ampbf16 bf16amp autocastbf16", "bf16"},
    {"precision", "torchfloat16 fp16mixed mixedfp16 16mixed float16mixed ampfp16 fp16amp autocastfp16", "fp16"},
    {"precision", "bf16true purebf16 bf16pure", "pure-bf16"},
    {"precision", "fp16true purefp16 fp16pure", "pure-fp16"},
    {"precision",
     "fp8te fp8hybrid fp8delayed fp8current fp8currentscaling fp8delayedscaling fp8tensorwise fp8e4m3 e4m3 float8 "
     "float8tensorwise fp8cs fp8ds",
     "fp8"},
    {"precision", "fp8rowwise float8rowwise", "fp8:row"},
    {"precision", "fp8blockwise fp8blockscaling fp8subchannel", "fp8:block"},
    {"precision", "fp8mx mxfp8", "mxfp8"},
    {"schedule", "onefoneb noninterleaved 1f1bnoninterleaved noninterleaved1f1b pipedreamflush", "1f1b"},
    {"schedule", "interleaved1f1b 1f1binterleaved interleaved", "interleaved"},
    {"schedule", "zb zbh1 zb1p zerobubble interleavedzerobubble", "zb1p"},
    {"schedule", "zbv zbvzerobubble", "zbv"},
    {"optimizer", "fusedadam adamfused distributedadam distributedfusedadam megatronadam", "adam"},
    {"optimizer",
     "fusedadamw adamwfused adamwtorch adamwtorchfused distributedadamw decoupledadamw decoupledadamwfused", "adamw"},
    {"optimizer", "8bitadamw adamwbnb8bit pagedadamw8bit", "adamw8bit"},
    {"status", "success successful succeeded passed completed", "ok"},
    {"status", "outofmemory cudaoom cudaoutofmemory", "oom"},
    {"compile", "true yes on 1 torchcompile inductor", "1"},
    {"compile", "false no off none 0 eager", "0"},
    {"gated", "true yes on 1 swiglu geglu glu silu", "1"},
    {"gated", "false no off none 0 gelu relu", "0"},
};

static void only_letters(char *plain, size_t size, const char *text)
{
    size_t n = 0;

    for (const char *at = text; *at && n + 1 < size; at++)
        if (!strchr("-_. ()/", *at)) plain[n++] = adept_lower(*at);
    plain[n] = '\0';
}

bool adept_row_word_is_among(const char *list, const char *word)
{
    const size_t n = strlen(word);
    size_t length;

    for (const char *at = list; n > 0 && *at; at += length + (at[length] == ' ')) {
        length = strcspn(at, " ");
        if (length == n && strncmp(at, word, n) == 0) return true;
    }
    return false;
}

const char *adept_row_program_word(const char *column, const char *text)
{
    char plain[64];

    only_letters(plain, sizeof plain, text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].column, column) == 0 && adept_row_word_is_among(words[i].rows, plain))
            return words[i].program;
    if (strcmp(column, "activation_checkpoint") != 0) return text;
    /* parts by name, as Megatron Core has them: "selective:norm;act"; groups of blocks, of which each keeps its input
     */
    if (strncmp(plain, "selective:", 10) == 0) return "selective";
    if (strncmp(plain, "full:uniform:", 13) == 0) return "full";
    return text;
}

bool adept_row_says_nothing(const char *text)
{
    static const char *const nothing[] = {"", "-", "--", "n/a", "na", "null", "?"};

    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (strcasecmp(text, nothing[i]) == 0) return true;
    return false;
}

bool adept_row_zero_word(const char *text, int *stage, int64_t *group)
{
    static const char *const begins[] = {"deepspeedzerostage", "deepspeedzero", "zerostage", "zero", "stage"};
    char plain[64];
    double number = 0;
    size_t i = 0;

    only_letters(plain, sizeof plain, text);
    while (i < sizeof begins / sizeof *begins && strncmp(plain, begins[i], strlen(begins[i])) != 0)
        i++;
    if (i == sizeof begins / sizeof *begins) return false;
    const char *at = plain + strlen(begins[i]);
    if (!*at || !strchr("0123", *at)) return false;
    if (at[1] && (strncmp(at + 1, "group", 5) != 0 || !adept_number_parse(&number, at + 6) ||
                  number != floor(number) || number < 1 || number > ADEPT_SIZED_MOST))
        return false;
    *stage = *at - '0';
    *group = (int64_t)number;
    return true;
}

/* ---- stacks ---- */

/* Whose training programs keep which states, and whose pointwise kernels are fused. What stands in the column `stack`,
 * or else `source`; of the first that is part of it. Others are PyTorch's, kernel by kernel. */
static const struct {
    const char *part;
    adept_trainer trainer;
    bool fused;
    bool sp, zero; /* usual in it: sequence parallel beside tensor parallel; a sharded optimizer */
} stacks[] = {
    {"megatron-deepspeed", ADEPT_TRAINER_DEEPSPEED, true, false, true},
    {"bridge", ADEPT_TRAINER_NEMO, true, true, true},
    {"modelzoo", ADEPT_TRAINER_NEMO, true, true, true},
    {"megatron", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"deepspeed", ADEPT_TRAINER_DEEPSPEED, false, false, false},
    {"neox", ADEPT_TRAINER_DEEPSPEED, true, false, false},
    {"nemo", ADEPT_TRAINER_NEMO, true, true, true},
    {"dgxc", ADEPT_TRAINER_NEMO, true, true, true},
    {"papers", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"flagscale", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"paddle", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"internevo", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"paxml", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"maxtext", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"jax", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"colossal", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"vtrain", ADEPT_TRAINER_MEGATRON, true, false, false},
    {"xtuner", ADEPT_TRAINER_DEEPSPEED, false, false, false},
};

static void settle_stack(adept_dataset_row *m, const adept_row_cells *given, double replicas)
{
    const char *name = adept_dataset_row_stack(m);

    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        if (!strcasestr(name, stacks[i].part)) continue;
        if (!given->trainer) m->run.trainer = (int)stacks[i].trainer;
        if (!given->sp && stacks[i].sp && m->run.tp > 1) {
            m->run.sp = true;
            m->unsaid |= ADEPT_UNSAID_SP;
        }
        if (stacks[i].zero && m->run.fsdp == 0 && m->run.zero == 0 && replicas > 1) {
            m->run.zero = ADEPT_SHARDED_OPTIMIZER + 1;
            m->unsaid |= ADEPT_UNSAID_OPTIMIZER;
        }
        if (stacks[i].fused && !m->compile && m->execution == ADEPT_EAGER && !given->execution) {
            m->execution = ADEPT_COMPILE;
            m->unsaid |= ADEPT_UNSAID_FUSED;
        }
        return;
    }
}

void adept_row_settle_board(adept_dataset_row *m)
{
    if ((m->unsaid & ADEPT_UNSAID_NETWORK) && !adept_layout_usual_node(m->hw))
        m->run.node = (int)adept_name_index("pcie-8", adept_node_name);
    if (!(m->unsaid & ADEPT_UNSAID_PRECISION) || m->hw->specs.tensor_bf16_flops_per_s > 0) return;
    if (m->precision == ADEPT_AMP_BF16) m->precision = ADEPT_AMP_FP16;
    if (m->precision == ADEPT_PURE_BF16) m->precision = ADEPT_PURE_FP16;
    adept_row_set_text(m, "precision", adept_precision_name(ADEPT_AMP_FP16));
}

/* ---- numbers ---- */

static int64_t or_one(int64_t n)
{
    return n > 0 ? n : 1;
}

/* i64:Bx4096 says 4096 where no column does; then shapes are the architecture's. */
static void settle_length(adept_dataset_row *m)
{
    const char *cross = strrchr(m->input, 'x');
    double number;

    if (m->seq_length == 0 && cross && adept_number_parse(&number, cross + 1) && number >= 1 && number <= 0x1p40)
        m->seq_length = (int64_t)number;
    if (m->seq_length > 0) m->input = "";
}

/* The number of a column that the program has no word for; 0: nothing stands there. */
static adept_status read_number(double *out, const adept_dataset_row *m, const char *column, adept_error *err)
{
    const char *text = adept_dataset_row_text(m, column);

    *out = 0;
    if (!text || adept_row_says_nothing(text) || (adept_number_parse(out, text) && *out >= 0)) return ADEPT_OK;
    return adept_row_fail(m, column, err, "'%.60s' is not a number from 0 on", text);
}

/* No step of training has so many sequences: a batch that large is of tokens. */
#define MOST_SEQUENCES 0x1p19
/* Throughputs are rounded. */
#define SAME_TOKENS 0.1

adept_status adept_row_settle_tokens(adept_dataset_row *m, const adept_row_cells *given, adept_error *err)
{
    int64_t *samples = &m->run.global_batch;
    double rate, tokens;

    if (!adept_row_has_architecture(m)) return ADEPT_OK;
    settle_length(m);
    const double length = (double)m->seq_length, pass = (double)or_one(m->batch_size) * (double)or_one(m->run.dp);
    adept_status status = read_number(&rate, m, "tokens_per_s_per_gpu", err);
    if (status == ADEPT_OK) status = read_number(&tokens, m, "global_batch_tokens", err);
    if (status != ADEPT_OK || length == 0) return status;
    rate *= given->gpus ? (double)m->run.gpus : 0;
    if (tokens == 0 && !given->grad_accum && rate > 0 && !isnan(m->step_time_s)) tokens = rate * m->step_time_s;
    const double passes = round(tokens / length / pass);
    if (*samples == 0 && passes * pass < MOST_SEQUENCES && fabs(passes * pass * length / tokens - 1) < SAME_TOKENS)
        *samples = (int64_t)(passes * pass);
    if (*samples == 0) return ADEPT_OK;
    const double step_s = rate > 0 ? (double)*samples * length / rate : NAN;
    if (isnan(m->step_time_s)) m->step_time_s = step_s;
    if (fabs(step_s / length / m->step_time_s - 1) < SAME_TOKENS && *samples % m->seq_length == 0)
        *samples /= m->seq_length; /* tokens */
    else if (fabs(step_s / m->step_time_s - 1) > SAME_TOKENS)
        return adept_row_fail(m, "global_batch", err,
                              "%lld sequences of %.0f tokens would take %.4g s by tokens_per_s_per_gpu",
                              (long long)*samples, length, step_s);
    if ((double)*samples >= MOST_SEQUENCES)
        return adept_row_fail(m, "global_batch", err, "%lld sequences: tokens stand in a column global_batch_tokens",
                              (long long)*samples);
    return ADEPT_OK;
}

/* "custom:0/8/14/20/26": where stages begin and end, in modules. Those that are no blocks stand before the first
 * block, but for the head behind the last: measured stages of Perseus's GPT-3 (27 modules, 24 blocks) take times of 6,
 * 6, 7 and 5 blocks with 0/8/14/21/27, and its BERT's (26) of 7, 6, 6 and 5. */
static void settle_partition(adept_dataset_row *m)
{
    const char *partition = adept_dataset_row_text(m, "partition"), *at = partition ? strchr(partition, '/') : NULL;
    const int64_t pp = or_one(m->run.pp), blocks = strtol(adept_row_layers(m), NULL, 10);
    adept_stage_list list = {0};
    int64_t begin = 0, end = 0, bounds[ADEPT_MOST_LISTED_STAGES + 1];
    size_t n = 0;

    if (!at || pp == 1 || m->run.stage_blocks.n > 0) return;
    m->unsaid |= ADEPT_UNSAID_PARTITION; /* what cannot be read is taken as even */
    for (at = partition + strcspn(partition, "0123456789"); *at && n < sizeof bounds / sizeof *bounds; n++) {
        char *rest;
        bounds[n] = strtol(at, &rest, 10);
        if (rest == at || (n > 0 && bounds[n] <= bounds[n - 1])) return;
        at = rest + (*rest == '/');
    }
    if (blocks < 1 || blocks > UINT16_MAX || n == 0 || bounds[n - 1] > 2 * UINT16_MAX) return;
    const int64_t others = bounds[n - 1] - blocks, before = others > 1 ? others - 1 : others;
    if (*at || (int64_t)n != pp + 1 || bounds[0] != 0 || others < 0 || pp > ADEPT_MOST_LISTED_STAGES) return;
    for (int64_t i = 0; i < pp; i++, begin = end) {
        end = bounds[i + 1] - before;
        if (end > blocks) end = blocks;
        if (end - begin < 1 || end - begin > UINT16_MAX) return;
        list.at[list.n++] = (uint16_t)(end - begin);
    }
    m->run.stage_blocks = list;
    m->unsaid &= ~(unsigned)ADEPT_UNSAID_PARTITION;
}

/* Limits by stage, where they differ: Perseus's rows note them. */
static void settle_limits(adept_dataset_row *m)
{
    static const char key[] = "per_stage_power_limit_w=";
    const char *notes = adept_dataset_row_text(m, "notes"), *at = notes ? strstr(notes, key) : NULL;
    const adept_field *f = adept_run_field(ADEPT_RUN_FIELD_stage_limits_w);
    char text[ADEPT_FIELD_TEXT_BYTES];

    if (!at || m->run.power_limit_w > 0 || m->run.stage_limits_w.n > 0) return;
    at += sizeof key - 1;
    const size_t n = strcspn(at, "; ");
    if (n >= sizeof text) return;
    memcpy(text, at, n);
    text[n] = '\0';
    if (adept_field_set_text(f, &m->run, text) && m->run.stage_limits_w.n != or_one(m->run.pp))
        m->run.stage_limits_w = (adept_stage_list){0};
}

void adept_row_settle(adept_dataset_row *m, const adept_row_cells *given)
{
    adept_run *run = &m->run;
    const double replica = (double)or_one(run->tp) * (double)or_one(run->pp) * (double)or_one(run->cp);

    if (!given->nodes) run->nodes = 0; /* as many as servers of the usual kind hold so many GPUs */
    if (!given->gpus && replica <= 0x1p31 && (double)or_one(run->dp) * replica <= 0x1p31) {
        run->gpus = (int64_t)replica * or_one(run->dp);
        if (run->dp == 0 && USUAL_NODE_GPUS % run->gpus == 0) run->gpus = USUAL_NODE_GPUS;
        if (run->dp == 0 && run->gpus == (int64_t)replica && (run->zero > 1 || run->fsdp > 0))
            run->gpus *= 2; /* shards are of two at least */
        if (run->dp == 0) m->unsaid |= ADEPT_UNSAID_GPUS;
    }
    if (m->batch_size == 0 && adept_row_has_architecture(m)) {
        m->batch_size = 1;
        m->unsaid |= ADEPT_UNSAID_MICRO_BATCH;
    }
    const char *grade = adept_dataset_row_text(m, "grade");
    if (grade && strcmp(grade, "memory_only") == 0 &&
        !isnan(m->step_time_s)) { /* a step of tests: it waits for launches */
        m->step_time_s = NAN;
        m->unsaid |= ADEPT_UNSAID_TIME;
    }
    const double replicas = (double)run->gpus / replica, pass = (double)or_one(m->batch_size) * replicas;
    const double passes = run->global_batch > 0 ? (double)run->global_batch / pass : 0;
    if (!given->grad_accum && passes >= 1 && passes == floor(passes)) m->grad_accum = (int64_t)passes;
    if (!given->grad_accum && run->global_batch == 0) {
        m->grad_accum = or_one(run->pp);
        m->unsaid |= ADEPT_UNSAID_GLOBAL_BATCH;
    }
    if (or_one(run->tp) == 1) run->sp = false;                              /* as Megatron has it */
    if (replicas * (double)or_one(run->cp) <= 1) run->fsdp = run->zero = 0; /* nobody to share with */
    if (!given->activation_checkpoint && m->mode == ADEPT_MODE_TRAIN) m->unsaid |= ADEPT_UNSAID_RECOMPUTATION;
    if (!given->sharding && replicas > 1 && m->mode == ADEPT_MODE_TRAIN) m->unsaid |= ADEPT_UNSAID_SHARDING;
    if (run->gpus > 1) m->unsaid |= ADEPT_UNSAID_OVERLAP;
    if (run->gpus > 1 && !given->ep && adept_row_has_architecture(m)) m->unsaid |= ADEPT_UNSAID_EP; /* with experts */
    if (run->gpus > USUAL_NODE_GPUS && run->node == 0 && run->internode_bytes_per_s == 0)
        m->unsaid |= ADEPT_UNSAID_NETWORK;
    settle_partition(m);
    settle_limits(m);
    /* How it ran, of which no column says it. Techniques of torchtune's README are each beside those before it. */
    static const char *const with_chunks[] = {"+chunked CE", "+activation", "+optimizer in backward", "+8-bit"};
    const char *notes = adept_dataset_row_text(m, "notes");
    if (notes) {
        if (strstr(notes, "8-bit optimizer") && strncmp(m->optimizer, "adam", 4) == 0) m->optimizer = "adamw8bit";
        const char *techniques = strstr(notes, "cumulative techniques: ");
        for (size_t i = 0; techniques && i < sizeof with_chunks / sizeof *with_chunks; i++)
            if (strstr(techniques, with_chunks[i])) m->run.loss = ADEPT_LOGITS_CHUNKED;
    }
    settle_stack(m, given, replicas * (double)or_one(run->cp));
    /* Nobody trains a language model on many GPUs in fp32. */
    if (!given->precision && adept_row_has_architecture(m)) {
        m->precision = ADEPT_AMP_BF16;
        adept_row_set_text(m, "precision", adept_precision_name(ADEPT_AMP_BF16));
        m->unsaid |= ADEPT_UNSAID_PRECISION;
    }
    /* Weights of 16 bits with a copy in 32 beside the optimizer's state: of all trainers but PyTorch's, and of FSDP,
     * which gathers them so. What flows between modules has 16 bits then, and nothing is cast on the way. */
    const bool gathered = m->run.fsdp != ADEPT_FSDP_NONE || m->run.zero > ADEPT_SHARDED_GRADIENTS;
    if (!adept_precision_is_autocast(m->precision) || m->mode != ADEPT_MODE_TRAIN ||
        (m->run.trainer == ADEPT_TRAINER_TORCH && !gathered))
        return;
    m->precision += adept_precision_is_scaled(m->precision) ? 1 : ADEPT_PURE_BF16 - ADEPT_AMP_BF16;
    m->optimizer_extras |= ADEPT_EXTRA_MASTER;
    m->unsaid |= ADEPT_UNSAID_WEIGHTS;
}

/* ---- clocks ---- */

#define HARDLY_DIFFER 1.05

/* The middle one of "1050-1065-1140", or the only one. */
static bool middle_clock(double *mhz, const char *text, size_t n)
{
    char word[64];

    if (n == 0 || n >= sizeof word) return false;
    memcpy(word, text, n);
    word[n] = '\0';
    char *begin = strchr(word, '-'), *end = begin ? strchr(begin + 1, '-') : NULL;
    if (end) *end = '\0';
    return adept_number_parse(mhz, begin ? begin + 1 : word) && *mhz > 0;
}

adept_status adept_row_settle_clocks(adept_dataset_row *m, adept_error *err)
{
    const char *plan = adept_dataset_row_text(m, "clock_plan");
    double least = INFINITY, most = 0, sum = 0, mhz;
    adept_stage_list list = {0};
    size_t stages = 0;

    if (!plan || !*plan) return ADEPT_OK;
    for (const char *at = plan; *at; stages++) {
        size_t n = strcspn(at, "/");
        if (!middle_clock(&mhz, at, n) || mhz > UINT16_MAX)
            return adept_row_fail(m, "clock_plan", err, "'%.60s' is not a list of clocks in MHz", plan);
        least = fmin(least, mhz), most = fmax(most, mhz), sum += mhz;
        if (stages < ADEPT_MOST_LISTED_STAGES) list.at[list.n++] = (uint16_t)lround(mhz);
        at += n + (at[n] == '/');
    }
    const bool differ = most > HARDLY_DIFFER * least;
    if (differ && stages > ADEPT_MOST_LISTED_STAGES)
        return adept_row_fail(m, "clock_plan", err, "clocks of more than %d stages", ADEPT_MOST_LISTED_STAGES);
    if (m->run.clock_hz > 0 || m->run.stage_clocks_mhz.n > 0) return ADEPT_OK;
    if (differ)
        m->run.stage_clocks_mhz = list;
    else
        m->run.clock_hz = 1e6 * sum / (double)stages;
    return ADEPT_OK;
}

/* ---- what fits ---- */

/* A step that ran fits; one that is predicted to take so much more than the board has was not run so. It is the bar for
 * memory of rows that say recomputation and optimizer (8 %). Of 555 measured rows 5 turn on it, all of Qwen3-30B in
 * Megatron Bridge: three below 1.02 to 1.08, where they would be computed again and 75 instead of 35 % off, two up to
 * 1.25, 12 % worse and 7 better. The mean error is 10.65, 10.39 and 10.40 % with 1.02, 1.08 and 1.25. */
#define SURELY_TOO_MUCH 1.08

static bool may_fit(const adept_prediction *p, double share)
{
    return !(p->memory.peak_bytes > share * p->memory.capacity_bytes);
}

adept_status adept_row_predict_usual(adept_prediction *out, adept_dataset_row *m, const adept_run *run,
                                     adept_error *err)
{
    static const int again[] = {ADEPT_RECOMPUTE_NONE, ADEPT_RECOMPUTE_SELECTIVE, ADEPT_RECOMPUTE_FULL};
    static const int zero[] = {0, ADEPT_SHARDED_OPTIMIZER + 1, ADEPT_SHARDED_PARAMETERS + 1};
    const bool unsharded = run->zero == 0 && run->fsdp == 0 && run->gpus > or_one(run->tp) * or_one(run->pp);
    const size_t n_again = m->unsaid & ADEPT_UNSAID_RECOMPUTATION ? 3 : 1, n_zero = m->unsaid & ADEPT_UNSAID_SHARDING
                                                                                        ? 3
                                                                                    : unsharded ? 2
                                                                                                : 1;
    adept_status status = adept_predict(out, m->profile, m->hw, run, err);

    if (status != ADEPT_OK || may_fit(out, SURELY_TOO_MUCH) || m->status == ADEPT_ROW_OOM || !m->layouts) return status;
    /* what is taken instead fits, or else nearly */
    for (size_t i = 0; i < 2 * n_again * n_zero; i++) {
        const double share = i < n_again * n_zero ? 1 : SURELY_TOO_MUCH;
        const size_t at = i % (n_again * n_zero);
        adept_run other = *run;
        adept_prediction p;
        if (n_again > 1) other.activation_checkpoint = again[at / n_zero];
        if (n_zero > 1) other.zero = zero[at % n_zero];
        if (at == 0 || adept_predict(&p, m->profile, m->hw, &other, NULL) != ADEPT_OK || !may_fit(&p, share)) continue;
        m->run.activation_checkpoint = other.activation_checkpoint;
        if (other.zero != run->zero) m->unsaid |= ADEPT_UNSAID_OPTIMIZER;
        m->run.zero = other.zero;
        *out = p;
        return ADEPT_OK;
    }
    return ADEPT_OK;
}
