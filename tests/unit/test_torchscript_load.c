/* The loader's child process: what happens when libtorch fails, hangs, crashes, or runs code of the file.
 * Files are edits of golden/models/state.pt, whose __setstate__ libtorch runs while loading. */
#include "adept_import.h"
#include "torchscript_file.h"
#include "zip_file.h"
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

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
    assert_true(after.tv_sec - before.tv_sec < 30);
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
        {CLASS "  def forward(self: __torch__.Inputs, x: Dict[str, Tensor]) -> Tensor:\n    return x[\"a\"]\n",
         "input 'x' of forward has type Dict[str, Tensor]"},
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_setstate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hang, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cannot_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unfolds_without_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_module, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("torchscript load", tests, NULL, NULL);
}
