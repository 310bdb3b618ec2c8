/* Measurement files: what is read, with which defaults, what is refused and with which words; rows of other GPUs; rows
 * that look wrong. */
#include "adept_measurements.h"
#include "adept_csv.h"
#include "toy_model.h"
#include "cmocka_test.h"
#include <locale.h>

static adept_dataset *parse(const char *text)
{
    adept_error err = {0};
    adept_dataset *d = adept_dataset_new();
    assert_non_null(d);
    if (adept_dataset_parse(d, "runs/t.csv", text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
    return d;
}

/* ---------------------------------------------------------------- reading ---------------------------------------- */

static void every_column(void **state)
{
    (void)state;
    adept_dataset *d =
        parse("assume,source,weight,power_scope,avg_power_w,step_time_s,power_limit_w,attention,grad_accum,optimizer,"
              "optimizer_impl,optimizer_extras,link,overlap,execution,host_launch_s,host_step_s,host_sample_s,memory_"
              "format,mode,precision,gpus,gpu,batch_size,input,model\n"
              "mylib::f=Bx3;branch=true,lab,2.5,node,1500.5,1e-1,250,fused,4,sgd,forloop,\"clip,ema\",bridge,none,"
              "graphs,3e-5,4e-3,1e-6,nhwc,train,bf16,8,h100,64,i64:Bx512;f32:Bx3,../x/bert.pt2\n");
    const adept_dataset_row *m = d->rows;
    assert_int_equal(d->n, 1);
    assert_string_equal(m->model, "../x/bert.pt2");
    assert_string_equal(m->model_name, "bert");
    assert_string_equal(m->input, "i64:Bx512;f32:Bx3");
    assert_string_equal(m->gpu, "h100");
    assert_string_equal(m->optimizer, "sgd");
    assert_int_equal(m->run.power_scope, ADEPT_SCOPE_NODE);
    assert_string_equal(m->source, "lab");
    assert_int_equal(m->n_assumptions, 2);
    assert_string_equal(m->assumptions[1], "branch=true");
    assert_int_equal(m->batch_size, 64);
    assert_int_equal(m->run.gpus, 8);
    assert_int_equal(m->grad_accum, 4);
    assert_int_equal(m->mode, ADEPT_MODE_TRAIN);
    assert_int_equal(m->precision, ADEPT_AMP_BF16);
    assert_int_equal(m->attention, ADEPT_ATTENTION_FUSED);
    assert_int_equal(m->memory_format, ADEPT_CHANNELS_LAST);
    assert_true(m->execution == ADEPT_GRAPHS && m->run.host_launch_s == 3e-5 && m->run.host_step_s == 4e-3 &&
                m->run.host_sample_s == 1e-6);
    assert_int_equal(m->optimizer_impl, ADEPT_IMPL_FORLOOP);
    assert_int_equal(m->run.overlap, ADEPT_OVERLAP_NONE);
    assert_int_equal(m->run.link, ADEPT_LINK_BRIDGE);
    assert_int_equal(m->optimizer_extras, ADEPT_EXTRA_CLIP | ADEPT_EXTRA_EMA);
    assert_true(m->run.power_limit_w == 250 && m->step_time_s == 0.1 && m->power_avg_w == 1500.5 && m->weight == 2.5);
    assert_int_equal(m->line, 2);
    assert_string_equal(m->file, "runs/t.csv");
    assert_string_equal(d->files[0].name, "t.csv");
    assert_int_equal(d->files[0].n_rows, 1);
    adept_dataset_free(d);
}

/* Whose kernels ran, by the version. */
static void versions_of_torch(void **state)
{
    (void)state;
    static const adept_framework expected[] = {ADEPT_TORCH1, ADEPT_TORCH2, ADEPT_TORCH2, ADEPT_TORCH2};
    adept_dataset *d = parse("model,step_time_s,torch\na,1,1.13.0\na,1,2.4.0+cu124\na,1,\na,1,10.1\n");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(d->rows[i].framework, expected[i]);
    adept_dataset_free(d);
    /* by its name, too */
    d = parse("model,step_time_s,torch,framework\na,1,1.13.0,\na,1,,torch1\na,1,1.13.0,torch1\na,1,,\n");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(d->rows[i].framework, i < 3 ? ADEPT_TORCH1 : ADEPT_TORCH2);
    assert_string_equal(adept_dataset_row_text(&d->rows[0], "framework"), "torch1");
    adept_dataset_free(d);
    static const char two[] = "model,step_time_s,torch,framework\na,1,2.4,torch1\n";
    adept_error err = {0};
    d = adept_dataset_new();
    assert_int_equal(adept_dataset_parse(d, "t.csv", two, strlen(two), &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "t.csv:2: column torch: is '2.4', but framework is torch1");
    adept_dataset_free(d);
}

/* The same said twice, in either column. */
static void compiled_rows(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s,compile,execution\na,1,1,\na,1,0,compile\na,1,1,compile\na,1,,\n");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(d->rows[i].execution, ADEPT_COMPILE);
        assert_string_equal(adept_dataset_row_text(&d->rows[i], "execution"), "compile");
    }
    assert_int_equal(d->rows[3].execution, ADEPT_EAGER);
    adept_dataset_free(d);
}

static void defaults(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s\nresnet50,0.25\n");
    const adept_dataset_row *m = d->rows;
    assert_string_equal(m->optimizer, "adamw");
    assert_int_equal(m->run.power_scope, ADEPT_SCOPE_GPU);
    assert_string_equal(adept_dataset_row_text(m, "power_scope"), "gpu");
    assert_true(m->batch_size == 0 && m->run.gpus == 1 && m->grad_accum == 1 && m->run.power_limit_w == 0 &&
                m->weight == 1);
    assert_true(m->mode == ADEPT_MODE_TRAIN && m->precision == ADEPT_FP32 && m->attention == ADEPT_ATTENTION_AUTO);
    assert_true(m->memory_format == ADEPT_FORMAT_AUTO && m->optimizer_impl == ADEPT_IMPL_AUTO &&
                m->optimizer_extras == 0);
    assert_string_equal(adept_dataset_row_text(m, "memory_format"), "auto");
    assert_string_equal(adept_dataset_row_text(m, "optimizer_impl"), "auto");
    assert_true(m->run.overlap == ADEPT_OVERLAP_AUTO && m->run.link == ADEPT_LINK_BOARD &&
                m->execution == ADEPT_EAGER && m->run.host_launch_s == 0 && m->run.host_step_s == 0 &&
                m->run.host_sample_s == 0);
    assert_string_equal(adept_dataset_row_text(m, "optimizer_extras"), "none");
    assert_true(m->step_time_s == 0.25 && isnan(m->power_avg_w));
    assert_string_equal(adept_dataset_row_text(m, "precision"), "fp32");
    assert_string_equal(adept_dataset_row_text(m, "gpus"), "1");
    assert_string_equal(adept_dataset_row_text(m, "power_limit_w"), "default");
    assert_string_equal(adept_dataset_row_text(m, "file"), "t.csv");
    assert_null(adept_dataset_row_text(m, "rack"));
    adept_dataset_free(d);
}

/* A clock that was measured sets nothing; that it was locked is another column. */
static void measured_clocks(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s,avg_clock_hz,clock_hz\na,1,1.4e9,\na,1,,1.2e9\n");
    assert_true(d->rows[0].clock_avg_hz == 1.4e9 && d->rows[0].run.clock_hz == 0);
    assert_true(isnan(d->rows[1].clock_avg_hz) && d->rows[1].run.clock_hz == 1.2e9);
    adept_dataset_free(d);
}

/* The columns of a run: all that the options of predict can say of it. */
static void where_it_runs(void **state)
{
    (void)state;
    adept_dataset *d =
        parse("model,step_time_s,gpus,nodes,internode_bytes_per_s,internode_latency_s,allreduce,bucket_bytes,"
              "clock_hz,host,seq_length,clip_grad_norm,grad_scaler,optimizer_extras\n"
              "a,1,16,2,2.5e10,2e-5,tree,1e6,1.2e9,torch1,512,1.0,true,ema\n"
              "a,1,,,,,,,,,,0,False,\n");
    const adept_run *run = &d->rows[0].run;
    assert_true(run->gpus == 16 && run->nodes == 2 && run->internode_bytes_per_s == 2.5e10);
    assert_true(run->internode_latency_s == 2e-5 && run->allreduce == ADEPT_ALLREDUCE_TREE && run->bucket_bytes == 1e6);
    assert_true(run->clock_hz == 1.2e9 && d->rows[0].seq_length == 512);
    assert_string_equal(adept_host_name((size_t)run->host), "torch1");
    assert_true(d->rows[0].optimizer_extras & ADEPT_EXTRA_EMA);
    assert_string_equal(adept_dataset_row_text(&d->rows[0], "clip_grad_norm"), "1");
    assert_string_equal(adept_dataset_row_text(&d->rows[0], "grad_scaler"), "1");
    assert_string_equal(adept_dataset_row_text(&d->rows[1], "grad_scaler"), "0");
    run = &d->rows[1].run;
    assert_true(run->gpus == 1 && run->nodes == 1 && run->clock_hz == 0 && run->internode_bytes_per_s == 0);
    assert_true(run->allreduce == ADEPT_ALLREDUCE_RING && run->host == 0 && d->rows[1].optimizer_extras == 0);
    adept_dataset_free(d);
}

/* A name that is nearly a column's is refused with the right one; other unknown names are kept, also where one letter
 * would make them a column's. */
static void near_names(void **state)
{
    (void)state;
    static const char *const near[][2] = {
        {"batch", "batch_size"},         {"Batch_Size", "batch_size"},   {"batch-size", "batch_size"},
        {"power_limit", "power_limit_w"}, {"power-limit", "power_limit_w"}, {"presicion", "precision"},
        {"grad_acum", "grad_accum"},     {"clock_mhz", "clock_hz"},      {"clock", "clock_hz"},
        {"host-launch", "host_launch_s"}, {"gpu-launch", "host_launch_s"}, {"host_launch_us", "host_launch_s"},
        {"avg_power", "avg_power_w"},    {"internode-bandwidth", "internode_bytes_per_s"},
        {"attension", "attention"},      {"GPU", "gpu"},                 {"num_gpus", "gpus"},
        {"activation_checkpoints", "activation_checkpoint"},
    };
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        char text[200], message[200];
        adept_error err = {0};
        adept_dataset *d = adept_dataset_new();
        snprintf(text, sizeof text, "model,%s,step_time_s\na,,1\n", near[i][0]);
        snprintf(message, sizeof message, "t.csv:1: column %s is not known; did you mean %s?", near[i][0], near[i][1]);
        assert_int_equal(adept_dataset_parse(d, "t.csv", text, strlen(text), &err), ADEPT_E_INVALID);
        assert_string_equal(err.message, message);
        adept_dataset_free(d);
    }
    adept_dataset *d =
        parse("model,step_time_s,notes,cpus,cost,date,seed,cuda,driver,d_model,power_w,power_min_w,steps,runs,"
              "time_min_s,idle_power_w,height,tokens,data,tp,fsdp\na,1,,,,,,,,,,,,,,,,,,8,full\n");
    assert_string_equal(adept_dataset_row_text(d->rows, "tp"), "8"); /* read, though not predicted */
    adept_dataset_free(d);
    d = parse("model,step_time_s,batch_size,batch\na,1,8,9\n"); /* the column is there: this is another */
    assert_int_equal(d->rows[0].batch_size, 8);
    adept_dataset_free(d);
}

static void power_alone_and_other_modes(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s,avg_power_w,mode,optimizer\nm,,120,infer,adamw\nm,1,,fwbw,sgd\n");
    assert_true(isnan(d->rows[0].step_time_s) && d->rows[0].power_avg_w == 120);
    assert_string_equal(d->rows[0].optimizer, "none");
    assert_string_equal(adept_dataset_row_text(&d->rows[1], "optimizer"), "none");
    adept_dataset_free(d);
}

/* RFC 4180: CRLF, quotes, doubled quotes, commas and line ends in cells; a byte order mark; empty lines; no last line
 * end. Lines are counted in the file, not in records. */
static void the_format(void **state)
{
    (void)state;
    adept_dataset *d = parse("\xef\xbb\xbf\"model\",step_time_s,\"my \"\"note\"\"\"\r\n"
                             "a,1,\"x, y\r\nz \"\"q\"\"\"\r\n\r\n"
                             "\"b\",2,\r\n"
                             "c , 3 ,\" \"");
    assert_int_equal(d->n, 3);
    assert_string_equal(d->columns.names[2], "my \"note\"");
    assert_string_equal(adept_dataset_row_text(&d->rows[0], "my \"note\""), "x, y\r\nz \"q\"");
    assert_int_equal(d->rows[0].line, 2);
    assert_int_equal(d->rows[1].line, 5);
    assert_string_equal(d->rows[1].model, "b");
    assert_string_equal(d->rows[2].model, "c"); /* blanks around what adept reads are not meant */
    assert_true(d->rows[2].step_time_s == 3);
    assert_string_equal(adept_dataset_row_text(&d->rows[2], "my \"note\""), " ");
    adept_dataset_free(d);
}

static void numbers_have_one_form(void **state)
{
    (void)state;
    adept_dataset *d = parse("model,step_time_s,batch_size,gpus,power_limit_w\na,1,8.0,+4,250.0\na,1,8,4,2.5e2\n");
    static const char *const columns[] = {"batch_size", "gpus", "power_limit_w"};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(adept_dataset_row_text(&d->rows[0], columns[i]),
                            adept_dataset_row_text(&d->rows[1], columns[i]));
    assert_string_equal(adept_dataset_row_text(&d->rows[0], "batch_size"), "8");
    adept_dataset_free(d);
}

static void several_files(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_dataset *d = parse("model,torch,step_time_s\na,2.1,1\n");
    static const char second[] = "step_time_s,cuda,model\n2,12,b\n3,13,c\n";
    assert_int_equal(adept_dataset_parse(d, "u.csv", second, strlen(second), &err), ADEPT_OK);
    assert_int_equal(d->n, 3);
    assert_int_equal(d->n_files, 2);
    assert_int_equal(d->files[1].n_rows, 2);
    assert_string_equal(adept_dataset_row_text(&d->rows[0], "torch"), "2.1");
    assert_string_equal(adept_dataset_row_text(&d->rows[0], "cuda"), ""); /* a column of the other file */
    assert_string_equal(adept_dataset_row_text(&d->rows[1], "torch"), "");
    assert_string_equal(adept_dataset_row_text(&d->rows[2], "cuda"), "13");
    /* SHA-256 of the bytes, from sha256sum */
    assert_string_equal(d->files[1].sha256, "785ddd98469a2b8c609ebbcab432496f287996d3a8faea0c0f2daeecd228db5a");
    adept_dataset_free(d);
}

static void a_file_given_twice(void **state)
{
    (void)state;
    static const char text[] = "model,step_time_s\na,1\n", other[] = "model,step_time_s\na,2\n";
    adept_dataset *d = parse(text);
    assert_int_equal(adept_dataset_parse(d, "other.csv", other, strlen(other), NULL), ADEPT_OK);
    assert_int_equal(d->n_warnings, 0);
    assert_int_equal(adept_dataset_parse(d, "copy.csv", text, strlen(text), NULL), ADEPT_OK);
    assert_int_equal(d->n_warnings, 1);
    assert_string_equal(d->warnings[0], "copy.csv is a copy of runs/t.csv: its rows count twice");
    adept_dataset_free(d);
}

/* A program that set a locale with a decimal comma reads the same numbers. */
static void decimal_point(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    bool set = false;
    for (size_t i = 0; i < 3 && !set; i++)
        set = setlocale(LC_NUMERIC, commas[i]) != NULL;
    if (!set) skip();
    adept_dataset *d = parse("model,step_time_s\na,1.5\n");
    setlocale(LC_NUMERIC, "C");
    assert_true(d->rows[0].step_time_s == 1.5);
    adept_dataset_free(d);
}

/* ---------------------------------------------------------------- refusals --------------------------------------- */

typedef struct refusal {
    const char *text, *message;
} refusal;

#define HEAD                                                                                                           \
    "model,step_time_s,avg_power_w,batch_size,gpus,precision,mode,optimizer,grad_accum,attention,power_limit_w,"       \
    "power_scope,weight,input\n"

static const refusal refusals[] = {
    {"", "t.csv: the file is empty"},
    {"\n\r\n", "t.csv: the file is empty"},
    {"model,step_time_s\n", "t.csv: a header, but no rows"},
    {"step_time_s\n1\n",
     "t.csv:1: column model is missing; the header is a single cell: are the columns separated by commas?"},
    {"model;step_time_s\na;1\n", "t.csv:1: column model is missing; the header is a single cell"},
    {"model,batch_size\na,1\n", "t.csv:1: column step_time_s is missing from the header"},
    {"model,step_time_ms\na,1\n",
     "t.csv:1: column step_time_s is missing; there is step_time_ms: convert it to seconds"},
    {"name,step_time_s\na,1\n", "t.csv:1: column model is missing from the header"},
    {"model,step_time_s,model\na,1,b\n", "t.csv:1: column model stands twice in the header"},
    {"model,step_time_s,x,x\na,1,b,c\n", "t.csv:1: column x stands twice in the header"},
    {"model,,step_time_s\na,b,1\n", "t.csv:1: column 2 has no name in the header"},
    {"model,step_time_s,\na,1,\n", "t.csv:1: column 3 has no name in the header"},
    {"model,step_time_s\na,1\nb\n", "t.csv:3: 1 cells, but the header has 2"},
    {"model,step_time_s\na,1,2\n", "t.csv:2: 3 cells, but the header has 2; a text with a comma must stand in quotes"},
    {"model,step_time_s\na,\"1\n", "t.csv:2: column 2: the quote never ends"},
    {"model,step_time_s\na,\"1\"2\n", "t.csv:2: column 2: text behind the closing quote"},
    {"model,step_time_s\na\"b,1\n", "t.csv:2: column 1: a quote inside a cell"},
    {"model,step_time_s\na,1\rb,2\n", "t.csv:2: column 2: a carriage return without line feed"},
    {"\xff\xfem\0o\0", "t.csv:1: this is UTF-16 text; save it as UTF-8"},
    {"model,step_time_s\na\xe9,1\n", "t.csv:2: byte 0xe9 is not UTF-8 text"},
    {"model,step_time_s\n\xc0\xaf,1\n", "t.csv:2: byte 0xc0 is not UTF-8 text"},
    {"model,step_time_s\n\xed\xa0\x80,1\n", "t.csv:2: byte 0xed is not UTF-8 text"},
    {"PK\x03\x04,\xff", "t.csv:1: byte 0xff is not UTF-8 text"},
    {HEAD ",1,,,,,,,,,,,,\n", "t.csv:2: column model: is empty"},
    {HEAD "a,,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: is empty, and so is avg_power_w: the row measures nothing"},
    {HEAD "a,fast,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: 'fast' is not a number"},
    {HEAD "a,0,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: 0 is not above 0"},
    {HEAD "a,-0.1,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: -0.1 is not above 0"},
    {HEAD "a,nan,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: 'nan' is not a number"},
    {HEAD "a,inf,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: 'inf' is not a number"},
    {HEAD "a,1e999,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: '1e999' is not a number"},
    {HEAD "a,0x1p3,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: '0x1p3' is not a number"},
    {HEAD "a,1 2,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: '1 2' is not a number"},
    {HEAD "a,0.5s,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: '0.5s' is not a number"},
    {HEAD "a,\"0,5\",,,,,,,,,,,,\n", "t.csv:2: column step_time_s: '0,5' is not a number"},
    {HEAD "a,--1,,,,,,,,,,,,\n", "t.csv:2: column step_time_s: '--1' is not a number"},
    {HEAD "a,1,0,,,,,,,,,,,\n", "t.csv:2: column avg_power_w: 0 is not above 0"},
    {HEAD "a,1,-5,,,,,,,,,,,\n", "t.csv:2: column avg_power_w: -5 is not above 0"},
    {HEAD "a,1,300W,,,,,,,,,,,\n", "t.csv:2: column avg_power_w: '300W' is not a number"},
    {HEAD "a,1,,0,,,,,,,,,,\n", "t.csv:2: column batch_size: 0 is not in 1 .. 2^53"},
    {HEAD "a,1,,1.5,,,,,,,,,,\n", "t.csv:2: column batch_size: '1.5' is not a whole number"},
    {HEAD "a,1,,1e300,,,,,,,,,,\n", "t.csv:2: column batch_size: 1e300 is not in 1 .. 2^53"},
    {HEAD "a,1,,,-1,,,,,,,,,\n", "t.csv:2: column gpus: -1 is not in 1 .. 2^53"},
    {HEAD "a,1,,,,fp4,,,,,,,,\n", "t.csv:2: column precision: 'fp4' is not one of fp32, tf32, bf16, fp16"},
    {HEAD "a,1,,,,,predict,,,,,,,\n", "t.csv:2: column mode: 'predict' is not one of train, fwbw, infer"},
    {HEAD "a,1,,,,,,lion9,,,,,,\n", "t.csv:2: column optimizer: 'lion9' is not one of none, sgd"},
    {HEAD "a,1,,,,,,,x,,,,,\n", "t.csv:2: column grad_accum: 'x' is not a whole number"},
    {HEAD "a,1,,,,,,,,slow,,,,\n", "t.csv:2: column attention: 'slow' is not one of auto, eager, fused"},
    {"model,step_time_s,assume\na,1,branch=true; fraction=2\n",
     "t.csv:2: column assume: assume 'fraction=2': want OP=SHAPE"},
    {"model,step_time_s,compile\na,1,2\n", "t.csv:2: column compile: '2' is not one of 0, 1"},
    {"model,step_time_s,compile,execution\na,1,1,graphs\n", "t.csv:2: column compile: is 1, but execution is graphs"},
    {"model,step_time_s,memory_format\na,1,nwhc\n",
     "t.csv:2: column memory_format: 'nwhc' is not one of auto, nchw, channels_last"},
    {"model,step_time_s,overlap\na,1,all\n",
     "t.csv:2: column overlap: 'all' is not one of auto, fixed, bucketed, none"},
    {"model,step_time_s,optimizer_impl\na,1,apex\n",
     "t.csv:2: column optimizer_impl: 'apex' is not one of auto, foreach, fused, forloop"},
    {"model,step_time_s,optimizer_extras\na,1,\"clip,swa\"\n",
     "t.csv:2: column optimizer_extras: 'clip,swa' is not one of clip, unscale, master, ema, zero_grad"},
    {HEAD "a,1,,,,,,,,,0,,,\n", "t.csv:2: column power_limit_w: 0 is not above 0"},
    {HEAD "a,1,,,,,,,,,,rack,,\n", "t.csv:2: column power_scope: 'rack' is not one of gpu, node"},
    {HEAD "a,1,,,,,,,,,,,-1,\n", "t.csv:2: column weight: -1 is not at least 0"},
    {"model,step_time_s,gpu_utilization\na,1,50\n",
     "t.csv:2: column gpu_utilization: 50 is above 1: divide percent by 100"},
    {HEAD "a,1,,,,,,,,,,,,3y\n", "t.csv:2: column input: input '3y'"},
    {HEAD "a,1,,,,,,,,,,,,\na,2,,,,,,,,,,,,f33:2\n", "t.csv:3: column input: input 'f33:2'"},
};

static void malformed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        adept_error err = {0};
        adept_dataset *d = adept_dataset_new();
        const char *text = refusals[i].text;
        assert_int_equal(adept_dataset_parse(d, "t.csv", text, strlen(text), &err), ADEPT_E_INVALID);
        if (strncmp(err.message, refusals[i].message, strlen(refusals[i].message)) != 0)
            fail_msg("case %zu: expected '%s', got '%s'", i, refusals[i].message, err.message);
        assert_null(strchr(err.message, '\n'));
        adept_dataset_free(d);
        d = adept_dataset_new(); /* without a place for the message */
        assert_int_equal(adept_dataset_parse(d, "t.csv", text, strlen(text), NULL), ADEPT_E_INVALID);
        adept_dataset_free(d);
    }
}

static void expect_refusal(const char *text, size_t size, const char *message)
{
    adept_error err = {0};
    adept_dataset *d = adept_dataset_new();
    assert_int_equal(adept_dataset_parse(d, "t.csv", text, size, &err), ADEPT_E_INVALID);
    if (strncmp(err.message, message, strlen(message)) != 0) fail_msg("expected '%s', got '%s'", message, err.message);
    adept_dataset_free(d);
}

static void sizes_have_limits(void **state)
{
    (void)state;
    static const char nul[] = "model,step_time_s\na\0,1\n";
    expect_refusal(nul, sizeof nul - 1, "t.csv:2: a NUL byte: this is not a text file");
    /* 257 columns */
    char header[2000];
    size_t used = 0;
    for (int i = 0; i < 257; i++)
        used += (size_t)sprintf(header + used, "c%d,", i);
    expect_refusal(header, used, "t.csv:1: more than 256 columns");
    /* a line of just over the limit, and one that swallows the file because a quote is missing */
    size_t size = ADEPT_CSV_MAX_LINE_BYTES + 64;
    char *text = malloc(size);
    memset(text, 'x', size);
    memcpy(text, "model,step_time_s\n", 18);
    expect_refusal(text, size, "t.csv:2: a line of more than 1048576 bytes");
    text[18] = '"';
    expect_refusal(text, size, "t.csv:2: a line of more than 1048576 bytes (is a quote missing its partner?)");
    free(text);
    adept_error err = {0};
    adept_dataset *d = adept_dataset_new();
    assert_int_equal(adept_dataset_read(d, "/no/such/file.csv", &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "/no/such/file.csv"));
    adept_dataset_free(d);
}

/* ---------------------------------------------------------------- the GPU ---------------------------------------- */

static void rows_of_other_gpus_are_left_out(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_hwprofile *hw = NULL;
    assert_int_equal(adept_hwprofile_open(&hw, "a100", &err), ADEPT_OK); /* an alias of a100-sxm-40gb */
    adept_dataset *d = parse("model,step_time_s,gpu,gpus\n"
                             "a,1,A100_SXM_40GB,2\nb,1,v100,1\nc,1,,1\nd,1,a100,1\ne,1,v100,1\nf,1,t4,1\ng,1,mine,1\n");
    assert_int_equal(adept_dataset_select_gpu(d, hw, "mine", &err), ADEPT_OK);
    assert_int_equal(d->n, 4);
    assert_string_equal(d->rows[0].model, "a");
    assert_string_equal(d->rows[1].model, "c");
    assert_string_equal(d->rows[2].model, "d");
    assert_string_equal(d->rows[3].model, "g"); /* what the user called it */
    assert_true(d->rows[0].hw == hw && d->rows[0].run.gpus == 2);
    assert_string_equal(adept_dataset_row_text(&d->rows[1], "gpu"), "a100-sxm-40gb");
    assert_int_equal(d->n_other_gpu, 3);
    assert_int_equal(d->n_warnings, 1);
    assert_string_equal(d->warnings[0],
                        "rows of other GPUs than a100-sxm-40gb are left out: v100 (2 rows), t4 (1 row)");
    adept_dataset_free(d);

    d = parse("model,step_time_s,gpu\na,1,v100\n");
    assert_int_equal(adept_dataset_select_gpu(d, hw, "a100", &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "runs/t.csv: column gpu: no row is of a100-sxm-40gb; there are v100 (1 row). "
                                     "The column must name the GPU, or be empty");
    adept_dataset_free(d);

    d = parse("model,step_time_s,gpu\na,1,My_Own\nb,1,t4\nc,1,a\nd,1,b\ne,1,c\nf,1,d\ng,1,e\nh,1,f\n");
    assert_int_equal(adept_dataset_select_gpu(d, hw, "runs/my-own.json", &err), ADEPT_OK); /* what the file is called */
    assert_int_equal(d->n, 1);
    assert_string_equal(d->warnings[0],
                        "rows of other GPUs than a100-sxm-40gb are left out: t4 (1 row), a (1 row), b (1 row), "
                        "c (1 row), d (1 row), others (2)");
    adept_dataset_free(d);
    adept_hwprofile_free(hw);
}

/* ---------------------------------------------------------------- suspects --------------------------------------- */

/* The toy: 10 TFLOP/s in fp32, 300 W; two passes of 0.7e12 FLOPs of matrix products and convolutions each. */
typedef struct world {
    toy_gpu gpu;
    toy_work work;
    adept_dataset *d;
} world;

static void check(world *w, const char *csv)
{
    adept_error err = {0};
    toy_gpu_init(&w->gpu);
    toy_work_init(&w->work);
    w->d = parse(csv);
    for (size_t i = 0; i < w->d->n; i++) {
        adept_dataset_row *m = &w->d->rows[i];
        m->profile = &w->work.prof;
        m->hw = &w->gpu.hw;
    }
    if (adept_dataset_check(w->d, &err) != ADEPT_OK) fail_msg("%s", err.message);
}

/* What does not add up is refused by the row, and what says the same as the other columns is not. */
static void splits(void **state)
{
    (void)state;
    static const char *const refused[][3] = {
        {"tp", "8", "4 GPUs are not a multiple of tp 8 x pp 1 x cp 1"},
        {"pp", "3", "4 GPUs are not a multiple of tp 1 x pp 3 x cp 1"},
        {"dp", "2", "dp 2 x tp 1 x pp 1 x cp 1 is not 4 GPUs: that would be dp 4"},
        {"global_batch", "48", "global_batch 48 is not a multiple of batch 16 x dp 4"},
        {"activation_offload", "1", "column activation_offload: '1' cannot be predicted yet"},
    };
    world w;
    toy_gpu_init(&w.gpu);
    toy_work_init(&w.work);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[300], message[200];
        adept_error err = {0};
        snprintf(text, sizeof text, "model,step_time_s,gpus,grad_accum,batch_size,%s\na,3,4,2,8,%s\n", refused[i][0],
                 refused[i][1]);
        w.d = parse(text);
        w.d->rows[0].profile = &w.work.prof;
        w.d->rows[0].hw = &w.gpu.hw;
        snprintf(message, sizeof message, "runs/t.csv:2: %s", refused[i][2]);
        assert_int_equal(adept_dataset_check(w.d, &err), ADEPT_E_INVALID);
        if (strncmp(err.message, message, strlen(message)) != 0) fail_msg("%s", err.message);
        adept_dataset_free(w.d);
    }
    w.d = parse("model,step_time_s,gpus,batch_size,tp\na,3,4,8,2\n"); /* adds up, and is not fitted */
    w.d->rows[0].profile = &w.work.prof;
    w.d->rows[0].hw = &w.gpu.hw;
    adept_error err = {0};
    assert_int_equal(adept_dataset_check(w.d, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "no parameter of a GPU is fitted to it"));
    adept_dataset_free(w.d);
    check(&w, "model,step_time_s,gpus,batch_size,tp\na,3,4,8,2\na,3,4,8,1\na,3,1,8,\n"); /* others are */
    assert_int_equal(w.d->n, 2);
    assert_int_equal(w.d->rows[0].line, 3);
    assert_int_equal(w.d->n_warnings, 1);
    assert_non_null(strstr(w.d->warnings[0], "1 row is of a layout"));
    adept_dataset_free(w.d);
    check(&w,
          "model,step_time_s,gpus,batch_size,tp,pp,vp,ep,dp,fsdp,micro_batch,global_batch,activation_checkpoint,sp\n"
          "a,3,4,16,1,1,,1,4,none,16,128,none,0\na,3,1,16,,,,,,FULL_SHARD,,32,none,\n");
    assert_null(w.d->rows[0].suspect);
    adept_dataset_free(w.d);
}

static void is_suspect(const world *w, size_t row, const char *reason)
{
    const char *suspect = w->d->rows[row].suspect;
    if (!suspect || !strstr(suspect, reason))
        fail_msg("row %zu: '%s', not '%s'", row, suspect ? suspect : "no", reason);
}

static void suspicious_rows(void **state)
{
    (void)state;
    world w;
    check(&w, "model,step_time_s,avg_power_w,gpus,power_limit_w,power_scope\n"
              "a,1,250,1,,\n"       /* fine */
              "a,200,,2,,\n"        /* line 3: seconds? */
              "a,,5e6,3,,node\n"    /* 5 MW */
              "a,1,320,4,,\n"       /* fine: 80 W each */
              "a,1,320,1,290,\n"    /* above the limit */
              "a,1,640,2,300,\n"    /* 320 W each, more than 5 % above 300 */
              "a,0.139,,5,,\n"      /* 1.4e12 FLOPs at 10 TFLOP/s take 0.14 s */
              "a,0.141,,6,,\n"      /* fine */
              "a,1,900,1,,node\n"); /* fine: the node has more than the board */
    assert_null(w.d->rows[0].suspect);
    is_suspect(&w, 1, "step_time_s is 200 s: are these milliseconds? About ");
    is_suspect(&w, 2, "avg_power_w is 5e+06 W: are these milliwatts?");
    assert_null(w.d->rows[3].suspect);
    is_suspect(&w, 4, "avg_power_w 320 W is above the power limit of 290 W");
    is_suspect(&w, 5, "avg_power_w 640 W is above the power limit of 600 W");
    is_suspect(&w, 6, "efficiency above 1: 0.139 s is less than the 0.14 s");
    assert_null(w.d->rows[7].suspect);
    assert_null(w.d->rows[8].suspect);
    assert_true(w.d->rows[8].power_avg_w == 900 && w.d->n_warnings == 0); /* a fit can find its host */
    assert_true(adept_dataset_settle_unknown(w.d));
    assert_true(isnan(w.d->rows[8].power_avg_w) && w.d->rows[0].power_avg_w == 250);
    assert_int_equal(w.d->n_warnings, 1);
    assert_string_equal(w.d->warnings[0],
                        "runs/t.csv:4, 10: 2 powers of whole nodes are not judged: what the host draws is not known; "
                        "say it by host_active_w, node or host, or fit it");
    assert_true(adept_dataset_exclude_suspect(w.d));
    assert_int_equal(w.d->n, 4);
    assert_int_equal(w.d->n_excluded, 5);
    assert_int_equal(w.d->rows[1].line, 5);
    assert_int_equal(w.d->rows[4].line, 3); /* those left out come behind */
    adept_dataset_free(w.d);
}

/* What is 100 times what is predicted, or a hundredth, is of another unit. A fit of such rows alone is refused. */
static void units_that_are_mistaken(void **state)
{
    (void)state;
    adept_error err = {0};
    world w;
    check(&w, "model,step_time_s,avg_power_w,gpus\n"
              "a,1,250,1\na,70,250,2\n" /* fine */
              "a,700,,3\n"              /* the toy takes some 0.7 s */
              "a,7e5,,4\na,,0.2,5\na,3e-4,,6\n");
    assert_null(w.d->rows[0].mistaken);
    is_suspect(&w, 2, "step_time_s is 700 s: are these milliseconds? About ");
    is_suspect(&w, 3, "are these microseconds?");
    is_suspect(&w, 4, "avg_power_w is 0.2 W: are these kilowatts?");
    is_suspect(&w, 5, "efficiency above 1");
    is_suspect(&w, 5, "are these hours?");
    assert_int_equal(adept_dataset_refuse_mistaken(w.d, &err), ADEPT_OK);
    adept_dataset_free(w.d);
    check(&w, "model,step_time_s,gpus\na,700,1\na,900,2\na,0.139,3\n");
    assert_int_equal(adept_dataset_refuse_mistaken(w.d, &err), ADEPT_E_FIT);
    assert_non_null(strstr(err.message, "runs/t.csv:2: every row is suspect"));
    assert_non_null(strstr(err.message, "2 of 3 look like milliseconds; the first: step_time_s is 700 s"));
    adept_dataset_free(w.d);
}

/* The toy idles at w.gpu.hw.specs.idle_w: exactly half of it is still believed. */
static void half_of_idle_is_the_least(void **state)
{
    (void)state;
    world w;
    char csv[200];
    toy_gpu_init(&w.gpu);
    double half = 0.5 * w.gpu.hw.specs.idle_w;
    snprintf(csv, sizeof csv, "model,step_time_s,avg_power_w,gpus\na,1,%.17g,1\na,1,%.17g,2\n", half, 2 * half * 0.99);
    check(&w, csv);
    assert_null(w.d->rows[0].suspect);
    is_suspect(&w, 1, "is below half of the idle power");
    adept_dataset_free(w.d);
}

static void repetitions_that_disagree(void **state)
{
    (void)state;
    world w;
    check(&w, "model,step_time_s,avg_power_w,gpus\n"
              "a,1.00,200,1\n"
              "a,1.09,,1\n" /* within 10 % of the other */
              "a,2.0,,2\n"
              "a,2.4,,2\n" /* 20 % apart: nobody knows which */
              "a,3.0,100,3\n"
              "a,3.01,150,3\n" /* times agree, powers do not */
              "a,5.0,,4\n"
              "a,5.1,,4\n"
              "a,9.0,,4\n" /* the odd one of three */
              "a,1.0,,5\n"
              "a,9.0,,6\n" /* in whatever order they were measured */
              "a,5.1,,6\n"
              "a,5.0,,6\n"
              "a,4.9,,6\n"
              "a,5.2,,6\n");
    assert_null(w.d->rows[0].suspect);
    assert_null(w.d->rows[1].suspect);
    is_suspect(&w, 2, "step_time_s 2 disagrees with 1 other row of the same configuration (runs/t.csv:5 has 2.4)");
    is_suspect(&w, 3, "step_time_s 2.4 disagrees with 1 other row of the same configuration (runs/t.csv:4 has 2)");
    is_suspect(&w, 4, "avg_power_w 100 disagrees");
    is_suspect(&w, 5, "avg_power_w 150 disagrees");
    assert_null(w.d->rows[6].suspect);
    assert_null(w.d->rows[7].suspect);
    is_suspect(&w, 8, "step_time_s 9 disagrees with 2 other rows of the same configuration (runs/t.csv:8 has 5)");
    assert_null(w.d->rows[9].suspect);
    is_suspect(&w, 10, "step_time_s 9 disagrees with 4 other rows");
    for (size_t i = 11; i < 15; i++)
        assert_null(w.d->rows[i].suspect);
    adept_dataset_free(w.d);
}

/* What one trainer takes says nothing of another. */
static void repetitions_are_of_one_stack(void **state)
{
    (void)state;
    world w;
    check(&w, "model,step_time_s,stack\n"
              "a,2.0,megatron\na,3.0,nemo\na,2.01,megatron\na,3.5,nemo\na,2.02,megatron\na,9.0,\n");
    for (size_t i = 0; i < 6; i++)
        assert_true(!w.d->rows[i].suspect == (i != 1 && i != 3));
    is_suspect(&w, 1, "step_time_s 3 disagrees with 1 other row");
    assert_int_equal(w.d->repeats.n_configurations, 2);
    assert_int_equal(w.d->repeats.n_rows, 5);
    adept_dataset_free(w.d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repetitions_are_of_one_stack),
        cmocka_unit_test(every_column),
        cmocka_unit_test(defaults),
        cmocka_unit_test(measured_clocks),
        cmocka_unit_test(where_it_runs),
        cmocka_unit_test(near_names),
        cmocka_unit_test(splits),
        cmocka_unit_test(versions_of_torch),
        cmocka_unit_test(compiled_rows),
        cmocka_unit_test(power_alone_and_other_modes),
        cmocka_unit_test(the_format),
        cmocka_unit_test(numbers_have_one_form),
        cmocka_unit_test(several_files),
        cmocka_unit_test(a_file_given_twice),
        cmocka_unit_test(decimal_point),
        cmocka_unit_test(malformed),
        cmocka_unit_test(sizes_have_limits),
        cmocka_unit_test(rows_of_other_gpus_are_left_out),
        cmocka_unit_test(suspicious_rows),
        cmocka_unit_test(units_that_are_mistaken),
        cmocka_unit_test(half_of_idle_is_the_least),
        cmocka_unit_test(repetitions_that_disagree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
