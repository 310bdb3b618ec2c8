/* The loader's child process: what happens when libtorch fails, hangs, crashes, or runs code of the file.
 * Files are edits of golden/models/state.pt, whose __setstate__ libtorch runs while loading. */
#include "adept_import.h"
#include "torchscript_file.h"
#include "zip_file.h"
#include "cmocka_test.h"
#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MODEL(name) ADEPT_SOURCE_DIR "/tests/golden/models/" name ".pt"
#define CODE "state/code/__torch__.py"

static char folder[64], file[96], victim[96];
static adept_error err;

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/adept_test_load_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(file, sizeof file, "%s/model.pt", folder);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    unlink(victim);
    return rmdir(folder);
}

/* Skips where the module is not built; a module that is named but missing is a failure. */
static void need_module(void)
{
    char module[ADEPT_MODULE_PATH_BYTES];
    if (adept_torch_module_find(module, NULL, "test", &err) == ADEPT_OK) return;
    if (getenv("ADEPT_TORCH_MODULE")) fail_msg("%s", err.message);
    skip();
}

static adept_status load_graph(adept_graph **g, const char *path)
{
    const adept_import_options options = {.timeout_s = 60};
    return test_torchscript_load(g, path, &options, &err);
}

static adept_status load(const char *path, bool trust, double timeout_s)
{
    adept_graph *g = NULL;
    adept_import_options options = {.trust = trust, .timeout_s = timeout_s};
    adept_status status = test_torchscript_load(&g, path, &options, &err);
    assert_int_equal(status == ADEPT_OK, g != NULL);
    adept_graph_free(g);
    return status;
}

static void assert_message(const char *part)
{
    if (!strstr(err.message, part)) fail_msg("expected \"%s\" in \"%s\"", part, err.message);
    assert_null(strchr(err.message, '\n'));
}

/* Lines in front of what __setstate__ does. */
static void write_setstate(const char *lines)
{
    size_t size;
    char *code = test_zip_read(MODEL("state"), CODE, &size);
    assert_non_null(code);
    char *at = strstr(code, "    self.count = torch.add");
    assert_non_null(at);
    char *edited = malloc(size + strlen(lines) + 1);
    assert_non_null(edited);
    sprintf(edited, "%.*s%s%s", (int)(at - code), code, lines, at);
    test_zip_replace(file, MODEL("state"), CODE, edited, strlen(edited));
    free(edited);
    free(code);
}

static int open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* ---- */

static void test_runs_setstate(void **state)
{
    (void)state;
    need_module();
    adept_graph *g = NULL;
    adept_import_options options = {.trust = true};
    assert_int_equal(test_torchscript_load(&g, MODEL("state"), &options, &err), ADEPT_OK);
    const adept_value *count = NULL; /* saved as 41, __setstate__ adds 1 */
    for (size_t i = 0; i < g->body->n_nodes; i++) {
        const adept_value *c = g->body->nodes[i].constant;
        if (c && c->kind == ADEPT_VALUE_INT && c->u.i != 1) count = c;
    }
    assert_non_null(count);
    assert_int_equal(count->u.i, 42);
    adept_graph_free(g);
}

static void test_hang(void **state)
{
    (void)state;
    need_module();
    write_setstate("    i = 1\n    while torch.lt(i, 2):\n      i = torch.mul(i, 1)\n");
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(load(file, true, 4), ADEPT_E_INVALID);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_message("4 s"); /* of time or of processor time, whichever was up first */
    assert_true(after.tv_sec - before.tv_sec < 300); /* it ends at all */
}

static void test_cannot_write(void **state)
{
    (void)state;
    need_module();
    char lines[256];
    test_file_write(victim, "precious", 8);
    snprintf(lines, sizeof lines, "    torch.save([1, 2], \"%s\")\n", victim);
    write_setstate(lines);
    load(file, true, 60);
    size_t size;
    char *content = test_file_read(victim, &size);
    assert_int_equal(size, 8); /* libtorch would have truncated it */
    assert_string_equal(content, "precious");
    free(content);
    unlink(victim);
    load(file, true, 60);
    assert_int_equal(access(victim, F_OK), -1);
}

static void test_memory(void **state)
{
    (void)state;
    need_module();
    write_setstate("    l = annotate(List[Tensor], [])\n    i = 0\n    while torch.lt(i, 1000000):\n"
                   "      _0 = torch.append(l, torch.empty([1000000000]))\n      i = torch.add(i, 1)\n"
                   "    self.count = torch.len(l)\n");
#ifndef ADEPT_SANITIZED /* the sanitizers need an unlimited address space */
    assert_int_equal(load(file, true, 60), ADEPT_E_INVALID);
    assert_message("torch.empty");
#endif
}

#define CLASS                                                                                                          \
    "class Inputs(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"                            \
    "  _is_full_backward_hook : NoneType\n"

static void write_program(const char *code)
{
    test_zip_replace(file, MODEL("inputs"), "inputs/code/__torch__.py", code, strlen(code));
}

static void test_bad_programs(void **state)
{
    (void)state;
    need_module();
    static const struct {
        const char *code, *message;
    } cases[] = {
        {"import os\n", "import"},
        {"garbage (((", ""},
        {"", ""},
        {"class Inputs(Module):\n  training : Missing\n", "Missing"},
        {CLASS, "no forward method"},
        {CLASS "  def forward(self: __torch__.Inputs, x: complex) -> complex:\n    return x\n",
         "input 'x' of forward has type complex"},
        {CLASS "  def forward(self: __torch__.Inputs, x: Tensor) -> Tensor:\n    return torch.nonsense(x)\n", ""},
        {CLASS "  def forward(self: __torch__.Inputs, x: Tensor) -> Tensor:\n    return torch.relu(x, spin=2)\n",
         "torch.relu(x, spin=2)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_program(cases[i].code);
        adept_status status = load(file, false, 60);
        if (strstr(cases[i].code, "nonsense")) { /* any name may be an operator of a newer version */
            assert_int_equal(status, ADEPT_OK);
            continue;
        }
        assert_true(status == ADEPT_E_INVALID || status == ADEPT_E_UNSUPPORTED);
        assert_message(cases[i].message);
        assert_message(file);
    }
}

/* Each function calls the one before twice: 2^40 operators if unfolded. */
static void test_unfolds_without_end(void **state)
{
    (void)state;
    need_module();
    char code[16384];
    int n = snprintf(code, sizeof code,
                     CLASS "  def f0(self: __torch__.Inputs, x: Tensor) -> Tensor:\n"
                           "    return torch.relu(x)\n");
    for (int i = 1; i < 40; i++) {
        n += snprintf(code + n, sizeof code - (size_t)n,
                      "  def f%d(self: __torch__.Inputs, x: Tensor) -> Tensor:\n"
                      "    return (self).f%d((self).f%d(x, ), )\n",
                      i, i - 1, i - 1);
    }
    snprintf(code + n, sizeof code - (size_t)n,
             "  def forward(self: __torch__.Inputs, x: Tensor) -> Tensor:\n    return (self).f39(x, )\n");
    write_program(code);
    assert_int_equal(load(file, false, 100), ADEPT_E_INVALID);
    assert_message("unfolds");
}

static void test_leaves_nothing(void **state)
{
    (void)state;
    need_module();
    int before = open_files();
    assert_int_equal(load(MODEL("mixed"), false, 60), ADEPT_OK);
    test_file_write(file, "PK", 2);
    assert_int_equal(load(file, false, 60), ADEPT_E_INVALID);
    assert_int_equal(load(MODEL("mixed"), false, 0.001), ADEPT_E_INVALID);
    assert_int_equal(open_files(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Weights are a gap in what libtorch gets, deflated ones and constants too. */
static void test_large_weights(void **state)
{
    (void)state;
    need_module();
    static const char *const names[] = {"tied/data/0", "tied/data/1", "tied/constants/9"};
    adept_graph *g = NULL;
    assert_int_equal(load_graph(&g, MODEL("tied")), ADEPT_OK);
    size_t n_nodes = g->body->n_nodes, n_params = g->n_params, size = (size_t)3 << 20;
    adept_graph_free(g);
    char *zeros = calloc(1, size);
    for (size_t i = 0; i < 3; i++) {
        test_zip_replace(file, MODEL("tied"), names[i], zeros, size >> i);
        if (load_graph(&g, file) != ADEPT_OK) fail_msg("%s", err.message);
        assert_int_equal(g->body->n_nodes, n_nodes);
        assert_int_equal(g->n_params, n_params);
        adept_graph_free(g);
    }
    free(zeros);
}

/* libtorch asks for a report where the file is at fault. */
static void test_inconsistent(void **state)
{
    (void)state;
    need_module();
    test_zip_replace(file, MODEL("tied"), "tied/data.pkl", "\x80\x02).", 4);
    assert_int_equal(load(file, false, 60), ADEPT_E_INVALID);
    assert_message("libtorch finds it inconsistent: ");
    assert_null(strstr(err.message, "report"));
}

/* ---- another file behind the same name ---- */

static enum { NOTHING, RENAMED, WRITTEN } swap;

int __real_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags);

/* Called between the check of a file and its loading. */
int __wrap_pipe2(int ends[2], int flags)
{
    char other[128];
    size_t size;
    char *bytes = test_file_read(MODEL("state"), &size);
    snprintf(other, sizeof other, "%s.other", file);
    if (swap == RENAMED) {
        test_file_write(other, bytes, size);
        rename(other, file);
    } else if (swap == WRITTEN) {
        test_file_write(file, bytes, size);
    }
    free(bytes);
    return __real_pipe2(ends, flags);
}

static void test_swapped(void **state)
{
    (void)state;
    need_module();
    for (int how = RENAMED; how <= WRITTEN; how++) {
        adept_graph *g = NULL;
        size_t size;
        char *bytes = test_file_read(MODEL("tied"), &size);
        test_file_write(file, bytes, size);
        swap = NOTHING;
        const adept_import_options options = {.timeout_s = 60};
        if (adept_import_model(&g, file, &options, &err) != ADEPT_OK) fail_msg("%s", err.message);
        size_t n_nodes = g->body->n_nodes;
        adept_graph_free(g);
        usleep(50000); /* clocks of file systems are coarse */
        swap = how;
        assert_int_equal(adept_import_model(&g, file, &options, &err), ADEPT_E_INVALID);
        assert_message("was changed while it was read");
        test_file_write(file, bytes, size);
        assert_int_equal(load_graph(&g, file), ADEPT_OK); /* what was checked, not what lies there now */
        assert_int_equal(g->body->n_nodes, n_nodes);
        adept_graph_free(g);
        swap = NOTHING;
        free(bytes);
    }
}

/* In libtorch's process this stands before libcpuinfo's: nobody says what the processor is, as where /proc and /sys are
 * not mounted. Files of the other tests do not need it. */
__attribute__((visibility("default"))) bool cpuinfo_initialize(void);
static bool *was_asked;

bool cpuinfo_initialize(void)
{
    *was_asked = true;
    return false;
}

static void test_no_engine(void **state)
{
    (void)state;
    need_module();
    *was_asked = false;
    adept_status status = load(MODEL("dynamic"), true, 60);
    if (!*was_asked) skip(); /* a libtorch with a libcpuinfo in it */
    assert_int_equal(status, ADEPT_E_UNSUPPORTED);
    assert_message("dynamic.pt: has weights of 8 bits, and libtorch has no engine here that packs them");
    assert_message("failed to initialize QNNPACK");
    assert_int_equal(load(MODEL("eight_bits"), true, 60), ADEPT_E_UNSUPPORTED); /* the program packs them */
    assert_message("/proc/cpuinfo");
    assert_int_equal(load(MODEL("mixed"), true, 60), ADEPT_OK);
}

static void test_no_module(void **state)
{
    (void)state;
    adept_graph *g = NULL;
    adept_import_options options = {.torch_module = "/nonexistent/adept_torch.so"};
    assert_int_equal(test_torchscript_load(&g, MODEL("mixed"), &options, &err), ADEPT_E_UNSUPPORTED);
    assert_message("/nonexistent/adept_torch.so");
    test_file_write(file, "no library", 10);
    options.torch_module = file;
    assert_int_equal(test_torchscript_load(&g, MODEL("mixed"), &options, &err), ADEPT_E_UNSUPPORTED);
    assert_message("does not load");
}

int main(void)
{
#ifdef ADEPT_SANITIZED /* elsewhere each child loads it behind its own limits, as users' do */
    test_torchscript_inherit();
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_setstate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hang, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cannot_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unfolds_without_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inconsistent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_swapped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_engine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_module, set_up, tear_down),
    };
    was_asked = mmap(NULL, sizeof *was_asked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (was_asked == MAP_FAILED) return 1;
    return cmocka_run_group_tests_name("torchscript load", tests, NULL, NULL);
}
