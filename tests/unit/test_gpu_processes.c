/* Processes on GPUs, by the library that stands in for NVML (tests/measure/fake_nvml.c). */
#include "adept_gpu_processes.h"
#include "nvml_stand_in.h"
#include "cmocka_test.h"

static adept_gpu_processes *opened(const char *play, const char *path)
{
    adept_gpu_processes *g = NULL;
    char why[256];

    setenv("ADEPT_NVML_LIBRARY", path ? path : getenv("ADEPT_FAKE_NVML"), 1);
    setenv("FAKE_NVML", play, 1);
    nvml.at(0);
    assert_int_equal(adept_gpu_processes_open(&g, why, sizeof why, NULL), ADEPT_OK);
    assert_int_equal(why[0] != '\0', path != NULL);
    return g;
}

static const adept_gpu_process *reading(adept_gpu_processes *g, double time_s, size_t expected)
{
    const adept_gpu_process *list;
    size_t n;

    nvml.at(time_s);
    assert_int_equal(adept_gpu_processes_read(g, &list, &n, NULL), ADEPT_OK);
    assert_int_equal(n, expected);
    return list;
}

static void assert_process(const adept_gpu_process *p, const char *gpu, int pid, double utilization, double bytes)
{
    assert_string_equal(p->gpu, gpu);
    assert_int_equal(p->pid, pid);
    assert_true(isnan(utilization) ? isnan(p->utilization) : fabs(p->utilization - utilization) < 1e-12);
    assert_true(isnan(bytes) ? isnan(p->memory_bytes) : p->memory_bytes == bytes);
}

static void holders_use_and_memory(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++) {
        char play[256];
        snprintf(play, sizeof play,
                 "boards=2 processes=%d process=0,100,1048576,30 process=0,101,-1,60 process=1,102,4096,-1", version);
        adept_gpu_processes *g = opened(play, NULL);
        const adept_gpu_process *list = reading(g, 1, 3);
        assert_process(&list[0], "gpu-0", 100, 0.30, 1048576);
        assert_process(&list[1], "gpu-0", 101, 0.60, NAN);
        assert_process(&list[2], "gpu-1", 102, 0, 4096); /* it holds the GPU and does nothing */
        list = reading(g, 1, 3);                         /* no newer sample: nothing used it since */
        assert_process(&list[0], "gpu-0", 100, 0, 1048576);
        list = reading(g, 2, 3);
        assert_process(&list[0], "gpu-0", 100, 0.30, 1048576);
        adept_gpu_processes_close(g);
        assert_int_equal(nvml.users(), 0);
    }
}

/* Without use (MIG), and without any list: a user of multiprocessors holds the GPU all the same. */
static void what_is_not_answered(void **state)
{
    (void)state;
    adept_gpu_processes *g = opened("uses=0 process=0,7,1,50", NULL);
    assert_process(reading(g, 1, 1), "gpu-0", 7, NAN, 1);
    adept_gpu_processes_close(g);

    g = opened("processes=0 process=0,7,1,50", NULL);
    assert_process(reading(g, 1, 1), "gpu-0", 7, 0.5, NAN);
    adept_gpu_processes_close(g);

    g = opened("lost=5 process=0,7,1,50", NULL);
    reading(g, 1, 1);
    reading(g, 6, 0);
    adept_gpu_processes_close(g);
    assert_int_equal(nvml.users(), 0);
}

/* MIG: of which instance a process is, and how large that is; one that its board does not know has no size. */
static void instances(void **state)
{
    (void)state;
    adept_gpu_processes *g = opened(
        "boards=2 uses=0 mig=1,1,3 mig=1,9,1 process=0,6,1,0 process=1,7,1,0,9 process=1,8,1,0,1 process=1,9,1,0,3",
        NULL);
    const adept_gpu_process *list = reading(g, 1, 4);
    static const struct {
        uint32_t instance;
        double slices;
    } expected[] = {{0, 0}, {10, 1}, {2, 3}, {4, 0}};
    for (size_t i = 0; i < 4; i++) {
        assert_true(list[i].is_listed && isnan(list[i].utilization));
        assert_int_equal(list[i].instance, expected[i].instance);
        assert_true(list[i].slices == expected[i].slices);
    }
    adept_gpu_processes_close(g);
}

/* A call that does not return ends the readings, not the program. The last test: the library is kept for ever. */
static void a_driver_that_never_returns(void **state)
{
    const adept_gpu_process *list;
    size_t n = 9;

    (void)state;
    adept_gpu_processes *g = opened("hangs=5 process=0,7,1,50", NULL);
    reading(g, 1, 1);
    assert_false(adept_gpu_processes_are_stuck(g));
    reading(g, 6, 0);
    assert_true(adept_gpu_processes_are_stuck(g));
    assert_int_equal(adept_gpu_processes_read(g, &list, &n, NULL), ADEPT_OK);
    assert_int_equal(n, 0);
    adept_gpu_processes_close(g);
}

static void more_than_there_is_room_for(void **state)
{
    (void)state;
    char play[4096] = "";
    for (int i = 0; i < 100; i++)
        snprintf(play + strlen(play), sizeof play - strlen(play), "process=0,%d,%d,50 ", 1000 + i, i);
    adept_gpu_processes *g = opened(play, NULL);
    const adept_gpu_process *list = reading(g, 1, 100);
    for (int i = 0; i < 100; i++)
        assert_process(&list[i], "gpu-0", 1000 + i, 0.5, i);
    adept_gpu_processes_close(g);
}

static void without_a_library(void **state)
{
    (void)state;
    adept_gpu_processes *g = opened("", "/nonexistent/libnvidia-ml.so.1");
    reading(g, 1, 0);
    adept_gpu_processes_close(g);
    adept_gpu_processes_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holders_use_and_memory),
        cmocka_unit_test(what_is_not_answered),
        cmocka_unit_test(instances),
        cmocka_unit_test(more_than_there_is_room_for),
        cmocka_unit_test(without_a_library),
        cmocka_unit_test(a_driver_that_never_returns),
    };
    return cmocka_run_group_tests(tests, open_nvml_stand_in, close_nvml_stand_in);
}
