/* What libtorch's process may do once a stranger's file has taken it over. tests/hostile/hostile_torch.c is in its
 * place, for any archive that passes the checks. */
#include "adept_clock.h"
#include "adept_import.h"
#include "sandbox.h"
#include "torchscript_file.h"
#include "zip_file.h"
#include "cmocka_test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL ADEPT_SOURCE_DIR "/tests/golden/models/tied.pt"
#define NOBODY 65534

static adept_error err;
static bool trust;

static void need_filter(void)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
    skip();
#endif
}

static adept_status load(const char *path, const char *deed, uint64_t memory_bytes, double timeout_s)
{
    adept_graph *g = NULL;
    const char *module = getenv("ADEPT_HOSTILE_TORCH");
    if (!module) skip();
    adept_import_options options = {
        .trust = trust, .torch_module = module, .memory_bytes = memory_bytes, .timeout_s = timeout_s};
    setenv("ADEPT_TEST_DEED", deed, 1);
    adept_status status = test_torchscript_load(&g, path, &options, &err);
    assert_null(g);
    return status;
}

static void assert_message(const char *part)
{
    if (!strstr(err.message, part)) fail_msg("expected \"%s\" in \"%s\"", part, err.message);
}

/* ---- */

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    signalled = number;
}

static void test_attacks(void **state)
{
    (void)state;
    need_filter();
    size_t before, after;
    char *old = test_file_read(SMALL, &before);
    signal(SIGIO, on_signal);
    signal(SIGABRT, on_signal);
    assert_int_equal(load(SMALL, "attack", 0, 60), ADEPT_E_INVALID);
    assert_string_equal(err.message, "nothing got through:");
    assert_int_equal(signalled, 0);
    char *now = test_file_read(SMALL, &after);
    assert_int_equal(after, before);
    assert_memory_equal(now, old, before);
    free(now);
    free(old);
}

/* In a process of its own, which has a user of its own where this one may choose. */
static int as_user(void (*body)(void))
{
    int how = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setregid(NOBODY, NOBODY) != 0 || setreuid(NOBODY, NOBODY) != 0)) _exit(2);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return how;
}

static void attack_quietly(void)
{
    const char *module = getenv("ADEPT_HOSTILE_TORCH");
    if (access(module, R_OK) != 0 || access(SMALL, R_OK) != 0) _exit(77);
    if (load(SMALL, "attack", 0, 60) != ADEPT_E_INVALID || strcmp(err.message, "nothing got through:") != 0) {
        fprintf(stderr, "%s\n", err.message);
        _exit(1);
    }
}

static void test_attacks_of_a_user(void **state)
{
    (void)state;
    need_filter();
    if (!getenv("ADEPT_HOSTILE_TORCH")) skip();
    int how = as_user(attack_quietly);
    if (WIFEXITED(how) && WEXITSTATUS(how) == 77) skip(); /* the build's folder is not everybody's to read */
    assert_int_equal(how, 0);
}

#ifdef __x86_64__
/* A kernel without i386's calls ends who makes one before any filter sees it. */
static bool has_i386(void)
{
    int how = 0;
    pid_t child = fork();
    if (child == 0) {
        long pid = 20; /* getpid */
        signal(SIGSEGV, SIG_DFL);
        __asm__ volatile("int $0x80" : "+a"(pid) : : "memory", "r8", "r9", "r10", "r11");
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &how, 0) == child);
    return WIFEXITED(how);
}

static void test_other_numbers(void **state)
{
    (void)state;
    static const char *const deeds[] = {"x32", "i386"};
    const char *by_i386 = has_i386() ? "signal 31" : "signal 11";
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(load(SMALL, deeds[i], 0, 60), ADEPT_E_INVALID);
        assert_message(i == 1 ? by_i386 : "signal 31"); /* SIGSYS: killed by the filter */
    }
}
#endif

static void test_deaths(void **state)
{
    (void)state;
    static const struct {
        const char *deed, *message;
    } cases[] = {{"crash", "crashed while loading it (signal 11"}, {"abort", "crashed while loading it (signal 6"}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(load(SMALL, cases[i].deed, 0, 60), ADEPT_E_INVALID);
        assert_message(cases[i].message);
        assert_message(SMALL);
    }
}

static void test_time(void **state)
{
    (void)state;
    double begin = adept_clock_s();
    assert_int_equal(load(SMALL, "spin", 0, 2), ADEPT_E_INVALID);
    assert_message("2 s");
    assert_true(adept_clock_s() - begin < 300); /* it ends at all */
}

static bool lacks_seccomp;

bool __real_adept_sandbox_filter(void);
bool __wrap_adept_sandbox_filter(void);

bool __wrap_adept_sandbox_filter(void)
{
    return !lacks_seccomp && __real_adept_sandbox_filter();
}

static void test_without_seccomp(void **state)
{
    (void)state;
    lacks_seccomp = true;
    assert_int_equal(load(SMALL, "nothing", 0, 60), ADEPT_E_UNSUPPORTED);
    assert_message("--trust");
    trust = true;
    assert_int_equal(load(SMALL, "nothing", 0, 60), ADEPT_E_INVALID);
    assert_string_equal(err.message, "nothing got through:"); /* it was asked */
    trust = lacks_seccomp = false;
}

/* Memory that others touch: weights, which address space does not tell from what is read. */
static void test_touched_weights(void **state)
{
    (void)state;
#ifdef ADEPT_SANITIZED
    skip(); /* the child's memory is not watched: most of it is the sanitizers' */
#endif
    char file[] = "/tmp/adept_test_sandbox_XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    size_t size = (size_t)600 << 20;
    char *zeros = calloc(1, size);
    test_zip_replace(file, SMALL, "tied/data/99", zeros, size);
    free(zeros);
    assert_int_equal(load(file, "touch", 0, 600), ADEPT_E_INVALID);
    assert_message("--memory-limit");
    unlink(file);
}

/* ---- the steps, one by one ---- */

static void confined(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (!adept_sandbox_begin(10) || !adept_sandbox_confine((uint64_t)1 << 30)) _exit(3);
    if (getsid(0) != getpid()) _exit(4);
    if (syscall(SYS_capget, &header, has) != 0 || has[0].effective || has[0].permitted || has[1].permitted) _exit(5);
    bool has_landlock = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1) >= 1;
    int fd = open("/etc/passwd", O_RDONLY);
    if (has_landlock != (fd < 0)) _exit(6);
    if (has_landlock && errno != EACCES) _exit(7);
}

static void test_confine(void **state)
{
    (void)state;
    int how = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        confined();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(as_user(confined), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attacks),
        cmocka_unit_test(test_attacks_of_a_user),
#ifdef __x86_64__
        cmocka_unit_test(test_other_numbers),
#endif
        cmocka_unit_test(test_deaths),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_without_seccomp),
        cmocka_unit_test(test_touched_weights),
        cmocka_unit_test(test_confine),
    };
    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
