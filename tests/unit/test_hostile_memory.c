/* Small files that would take gigabytes: each ends with exit 3 within one gigabyte (10^9 bytes), in the program, in the
 * process that libtorch runs in, and in libadept, and within 14 s of processor time. */
#include <adept/adept.h>
#include "adept_profile.h"
#include "saved.h"
#include "torchscript_pack.h"
#include "zip_file.h"
#include "cmocka_test.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_KB 976562 /* 10^9 bytes */
#define MOST_S 60 /* 10 of libtorch and what reading the file takes, on a slow machine too */
#define INPUTS ADEPT_SOURCE_DIR "/tests/golden/models/inputs.pt"
#define CODE "inputs/code/__torch__.py"

static char folder[64], file[96], said[4096];
static const char *memory_limit = "1GiB"; /* which is the default */

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/adept_test_memory_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(file, sizeof file, "%s/file", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

/* ---- measuring ---- */

static int end_of(pid_t child)
{
    int how = 0;
    struct rusage used; /* of the child, and of those it waited for: the largest of each */
    assert_int_equal(wait4(child, &how, 0, &used), child);
    assert_true(WIFEXITED(how));
    printf("%s: %ld MB, %ld s\n", said, used.ru_maxrss / 1000, (long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec));
#ifndef ADEPT_SANITIZED /* most is theirs */
    if (used.ru_maxrss > MOST_KB) fail_msg("%ld kB: %s", used.ru_maxrss, said);
    if (used.ru_utime.tv_sec + used.ru_stime.tv_sec > MOST_S) fail_msg("%ld s: %s", used.ru_utime.tv_sec, said);
#endif
    return WEXITSTATUS(how);
}

static int run_program(void)
{
    int ends[2];
    const char *program = getenv("ADEPT");
    if (!program) skip();
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        execl(program, "adept", "profile", file, "--memory-limit", memory_limit, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    ssize_t n, at = 0;
    while ((n = read(ends[0], said + at, sizeof said - 1 - (size_t)at)) > 0)
        at += n;
    said[at] = '\0';
    said[strcspn(said, "\n")] = '\0';
    close(ends[0]);
    return end_of(child);
}

static int run_library(void)
{
    fflush(stdout);
    pid_t child = fork();
    strcpy(said, "libadept");
    if (child == 0) {
        adept_workload *w = NULL;
        adept_error err;
        _exit((int)adept_workload_open(&w, file, NULL, &err));
    }
    return end_of(child);
}

static void ends_well(const char *message)
{
    assert_int_equal(run_program(), 3);
    if (!strstr(said, message)) fail_msg("expected \"%s\" in \"%s\"", message, said);
}

static void ends_well_everywhere(const char *message)
{
    ends_well(message);
    assert_int_equal(run_library(), ADEPT_E_INVALID);
}

static void need_module(void)
{
    if (!getenv("ADEPT_TORCH_MODULE")) skip();
}

static char *repeated(const char *head, const char *unit, size_t n, const char *tail)
{
    size_t a = strlen(head), b = strlen(unit), c = strlen(tail);
    char *text = malloc(a + n * b + c + 1);
    assert_non_null(text);
    memcpy(text, head, a);
    for (size_t i = 0; i < n; i++)
        memcpy(text + a + i * b, unit, b);
    memcpy(text + a + n * b, tail, c + 1);
    return text;
}

/* ---- TorchScript ---- */

static void write_program(const char *line, size_t size)
{
    char *code = repeated("class Inputs(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
                          "  _is_full_backward_hook : NoneType\n"
                          "  def forward(self: __torch__.Inputs, x: Tensor) -> Tensor:\n",
                          line, size / strlen(line), "    return x\n");
    const test_entry entries[] = {TEST_TEXT("inputs/data.pkl", "\x80\x02N."),
                                  TEST_TEXT("inputs/constants.pkl", "\x80\x02)."),
                                  TEST_TEXT("inputs/version", "3\n"),
                                  {CODE, code, strlen(code)}};
    size_t n;
    char *data = test_zip_read(INPUTS, "inputs/data.pkl", &n);
    test_entry all[4];
    memcpy(all, entries, sizeof all);
    all[0] = (test_entry){"inputs/data.pkl", data, n};
    test_zip_write(file, all, 4, true);
    free(data);
    free(code);
}

/* 67 KB on disk; 3.9 GB before there was a limit. */
static void test_code(void **state)
{
    (void)state;
    write_program("    x = 1\n", (size_t)63 << 20);
    ends_well("is too large");
}

/* The limits are shares of one number. */
static void test_limit(void **state)
{
    (void)state;
    need_module();
    write_program("    # a comment that libtorch skips, so that a file of six megabytes takes it no memory\n",
                  (size_t)6 << 20);
    ends_well("is too large");
    memory_limit = "2GiB";
    assert_int_equal(run_program(), 2); /* it was read, and does not say its shapes */
    memory_limit = "511MB";
    assert_int_equal(run_program(), 2);
    assert_non_null(strstr(said, "--memory-limit: '511MB'"));
    memory_limit = "1GiB";
}

/* What is just below the limit, in the forms that libtorch makes most of. */
static void test_dense_code(void **state)
{
    (void)state;
    need_module();
#ifdef ADEPT_SANITIZED
    skip(); /* what ends them is memory, of which sanitizers take most, so that it is not measured there */
#endif
    static const char *const lines[] = {"    x = x\n", "    x = torch.relu(x)\n", "    y = [1,1,1,1,1,1,1,1,1,1]\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        write_program(lines[i], (size_t)4000 << 10);
        ends_well("--memory-limit");
    }
}

static void test_pickles(void **state)
{
    (void)state;
    static const char *const units[] = {")", "]", "K\1", "("};
    for (size_t i = 0; i < 4; i++) {
        size_t n = ((size_t)15 << 20) / strlen(units[i]);
        char *pickle = repeated("(", units[i], n, "t.");
        test_zip_replace(file, INPUTS, "inputs/data.pkl", pickle, strlen(pickle));
        free(pickle);
        ends_well("more values than any model has");
    }
}

/* 8 KB on disk that stand for 7 GB. */
static void test_sparse(void **state)
{
    (void)state;
    const uint64_t size = (uint64_t)7 << 30;
    adept_torch_pack pack = {.n_entries = 0};
    static const char *const names[] = {"data.pkl", "constants.pkl", "version", "code/__torch__.py"};
    adept_torch_pack_begin(&pack, size);
    adept_torch_pack_add(&pack, "inputs/constants/9", NULL, size);
    for (size_t i = 0; i < 4; i++) {
        char name[64];
        size_t n;
        snprintf(name, sizeof name, "inputs/%s", names[i]);
        char *data = test_zip_read(INPUTS, name, &n);
        adept_torch_pack_add(&pack, name, data, n);
        free(data);
    }
    assert_true(adept_torch_pack_end(&pack, file));
    const adept_torch_file *f = &pack.file;
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(pwrite(fd, f->bytes, f->gap_at, 0), f->gap_at);
    size_t rest = f->n_bytes - f->gap_at;
    assert_int_equal(pwrite(fd, f->bytes + f->gap_at, rest, (off_t)(f->gap_at + size)), rest);
    close(fd);
    adept_torch_pack_free(&pack);
    ends_well_everywhere("a sparse file");
}

/* A directory of 300,000 entries. */
static void test_directory(void **state)
{
    (void)state;
    adept_torch_pack pack = {.n_entries = 0};
    adept_torch_pack_begin(&pack, 0);
    for (int i = 0; i < 300000; i++) {
        char name[64];
        snprintf(name, sizeof name, "inputs/data/%d", i);
        adept_torch_pack_add(&pack, name, "", 0);
    }
    assert_true(adept_torch_pack_end(&pack, file));
    test_file_write(file, pack.file.bytes, pack.file.n_bytes);
    adept_torch_pack_free(&pack);
    ends_well_everywhere("more entries than any model has");
}

/* ---- JSON ---- */

static void test_json(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *message;
        size_t size;
    } cases[] = {
        {"0,", "too many values", 100000000},
        {"{\"a\":[]},", "too many values", 100000000},
        {"\"12345678901234567890123456789012345678\",", "without its graph", 85000000},
        {"0,", "more than the", 140000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated("{\"kind\":\"adept-profile\",\"schema_version\":3,\"x\":[", cases[i].unit,
                              cases[i].size / strlen(cases[i].unit), "0]}");
        test_file_write(file, text, strlen(text));
        free(text);
        ends_well_everywhere(cases[i].message);
    }
}

/* ---- the graph of a saved profile ---- */

/* Of n operators without arguments. */
static void write_nodes(adept_buffer *bytes, size_t n)
{
    adept_graph *g = NULL;
    adept_error err;
    adept_graph_builder *b = adept_graph_builder_new();
    const adept_node_desc desc = {.op = "aten::relu", .param = -1};
    for (size_t i = 0; i < n; i++)
        assert_int_equal(adept_graph_builder_node(b, &desc, &err), ADEPT_OK);
    assert_int_equal(adept_graph_builder_finish(b, 0, NULL, &g, &err), ADEPT_OK);
    assert_int_equal(adept_graph_write(bytes, g, &err), ADEPT_OK);
    adept_graph_free(g);
}

/* The same for more than a graph may have: what 200 and 201 of them differ by is repeated. */
static void write_many_nodes(adept_buffer *out, size_t n)
{
    adept_buffer some = {.data = NULL}, more = {.data = NULL};
    write_nodes(&some, 200);
    write_nodes(&more, 201);
    size_t same = 0, unit = more.size - some.size;
    while (some.data[same] == more.data[same])
        same++;
    adept_buffer_add(out, some.data, same);
    for (size_t left = n; left > 0; left >>= 7)
        adept_buffer_add(out, &(char){(char)((left & 0x7f) | (left >> 7 ? 0x80 : 0))}, 1);
    adept_buffer_add(out, some.data + same + 2, some.size - same - 2 - 1);
    for (size_t i = 200; i < n; i++)
        adept_buffer_add(out, some.data + some.size - 1 - unit, unit);
    adept_buffer_add(out, "", 1);
    assert_false(out->failed);
    adept_buffer_free(&some);
    adept_buffer_free(&more);
}

static void write_profile(const adept_buffer *bytes)
{
    adept_workload_config config = {.batch_size = 0};
    char hash[ADEPT_SHA256_SIZE], *data;
    assert_int_equal(adept_saved_graph(hash, &data, &config, bytes, NULL), ADEPT_OK);
    FILE *out = fopen(file, "w");
    fprintf(out,
            "{\"kind\":\"adept-profile\",\"schema_version\":3,\"options\":{\"mode\":\"train\",\"precision\":\"fp32\","
            "\"attention\":\"auto\"},\"graph\":{\"sha256\":\"%s\",\"data\":\"%s\"}}",
            hash, data);
    assert_int_equal(fclose(out), 0);
    free(data);
}

static void test_graph(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        const char *message;
    } cases[] = {{1000000, ""}, {10000000, "--memory-limit"}};
    for (size_t i = 0; i < 2; i++) {
        adept_buffer bytes = {.data = NULL};
        write_many_nodes(&bytes, cases[i].n);
        write_profile(&bytes);
        adept_buffer_free(&bytes);
        ends_well_everywhere(cases[i].message);
    }
}

/* ---- torch.export ---- */

static void test_export(void **state)
{
    (void)state;
    static const char head[] =
        "{\"schema_version\":{\"major\":8,\"minor\":2},\"graph_module\":{\"signature\":{\"input_specs\":[],"
        "\"output_specs\":[]},\"module_call_graph\":[],\"graph\":{\"inputs\":[],\"outputs\":[],"
        "\"tensor_values\":{},\"sym_int_values\":{},\"nodes\":[";
    static const char *const units[] = {
        "{\"target\":\"torch.ops.a.b.c\",\"inputs\":[],\"outputs\":[],\"metadata\":{}},",
        "{\"target\":\"torch.ops.a.b.c\",\"inputs\":[{\"name\":\"a\",\"arg\":{\"as_int\":1}},{\"name\":\"b\",\"arg\":"
        "{\"as_int\":2}},{\"name\":\"c\",\"arg\":{\"as_int\":2}}],\"outputs\":[],\"metadata\":{}},",
    };
    for (size_t i = 0; i < 2; i++) {
        char *json = repeated(head, units[i], i == 0 ? 410000 : 110000,
                              "{\"target\":\"torch.ops.a.b.c\",\"inputs\":[],\"outputs\":[],\"metadata\":{}}]}}}");
        const test_entry entry = {"serialized_exported_program.json", json, strlen(json)};
        test_zip_write(file, &entry, 1, true);
        free(json);
        assert_int_not_equal(run_program(), 1);
        assert_int_not_equal(run_library(), ADEPT_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dense_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pickles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sparse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_export, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("hostile memory", tests, NULL, NULL);
}
