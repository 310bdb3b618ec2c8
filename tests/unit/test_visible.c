/* Which GPUs a process may use, by its environment: what CUDA, ROCm, Slurm and containers take for a list, and what it
 * leaves. */
#include "adept_visible.h"
#include "cmocka_test.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SENSORS 6

/* Boards by NVML, of one make or the first two of another; boards of AMD; and a package behind them. */
typedef struct machine {
    adept_sensor sensors[SENSORS + 1];
    const adept_sensor *list[SENSORS + 1];
    size_t n;
} machine;

/* Boards that /sys alone shows: nobody numbers them. */
static machine machine_of_sys(size_t boards)
{
    machine m = {.n = boards + 1};

    for (size_t i = 0; i < boards; i++)
        m.sensors[i] = (adept_sensor){.component = ADEPT_COMPONENT_GPU, .driver = ""};
    m.sensors[boards] = (adept_sensor){.component = ADEPT_COMPONENT_CPU, .driver = ""};
    return m;
}

static machine machine_of(size_t nvidia, size_t amd, bool is_alike)
{
    machine m = {.n = nvidia + amd + 1};

    for (size_t i = 0; i < nvidia; i++) {
        adept_sensor *s = &m.sensors[i];
        *s = (adept_sensor){.component = ADEPT_COMPONENT_GPU};
        snprintf(s->device, sizeof s->device, "NVIDIA %s 00000000:%02zX:00.0, driver 550",
                 is_alike || i < 2 ? "A100" : "T4", i + 1);
        adept_sensor_number(s, "nvml", (unsigned)i, (unsigned)nvidia);
        snprintf(s->ids, sizeof s->ids, "GPU-8932f937-000%zu MIG-aa-%zu MIG-bb-%zu", i, i, i);
    }
    for (size_t i = 0; i < amd; i++) {
        adept_sensor *s = &m.sensors[nvidia + i];
        *s = (adept_sensor){.component = ADEPT_COMPONENT_GPU, .device = "AMD 0000:03:00.0"};
        adept_sensor_number(s, "rocm", (unsigned)i, (unsigned)amd);
        snprintf(s->ids, sizeof s->ids, "GPU-00000000deadbee%zu", i);
    }
    m.sensors[m.n - 1] = (adept_sensor){.component = ADEPT_COMPONENT_CPU, .driver = ""};
    return m;
}

/* Leave out sensors, as --devices does: a digit for each that stays. */
static void look(machine *m, const char *kept)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        if (!*kept || i + 1 == m->n || strchr(kept, (int)('0' + i))) m->list[n++] = &m->sensors[i];
    m->n = n;
}

/* @param kept  of --devices; "": all.  @param environment  "NAME=VALUE;...".  @param used  the sensors whose GPUs are
 * visible */
static void check(machine m, const char *kept, const char *environment, size_t visible, const char *used,
                  const char *doubt)
{
    adept_visible_words words = {.in_container = false};
    adept_visible_gpus out;
    bool is_used[SENSORS + 1];
    char text[64] = "", copy[256];

    snprintf(copy, sizeof copy, "%s", environment);
    for (char *rest = copy, *word; (word = strsep(&rest, ";"));) {
        char *equals = strchr(word, '=');
        size_t v = 0;
        words.in_container = words.in_container || strcmp(word, "container") == 0;
        if (!equals) continue;
        *equals = '\0';
        while (strcmp(adept_visible_name(v), word) != 0)
            v++;
        assert_true(adept_visible_set(&words, v, equals + 1));
    }
    look(&m, kept);
    adept_visible_resolve(&out, is_used, &words, m.list, m.n);
    assert_true(is_used[m.n - 1]); /* a package is nobody's GPU */
    for (size_t i = 0; i + 1 < m.n; i++)
        if (is_used[i]) snprintf(text + strlen(text), sizeof text - strlen(text), "%d", (int)(m.list[i] - m.sensors));
    bool is_doubtful = doubt ? out.doubt && strstr(out.doubt, doubt) : out.doubt != NULL;
    if (out.n != visible || out.n_measured != strlen(used) || strcmp(text, used) != 0 || is_doubtful != (doubt != NULL))
        fail_msg("%s: %zu visible, %zu measured: '%s' instead of '%s'; doubt: %s", environment, out.n, out.n_measured,
                 text, used, out.doubt ? out.doubt : "none");
    if (visible + 1 < m.n && !*out.by && !*kept) fail_msg("%s: by nothing", environment);
    adept_visible_free(&words);
}

static void cuda(void **state)
{
    (void)state;
    const machine four = machine_of(4, 0, true), mixed = machine_of(4, 0, false);

    check(four, "", "", 4, "0123", NULL);
    check(four, "13", "", 2, "13", NULL); /* --devices says what is meant */
    check(four, "", "CUDA_VISIBLE_DEVICES=3", 1, "3", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES= 2, 0 ", 2, "02", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=", 0, "", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=-1", 0, "", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=NoDevFiles", 0, "", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=1,-1,2", 1, "1", NULL); /* the first that is none ends it */
    check(four, "", "CUDA_VISIBLE_DEVICES=1,9,2", 1, "1", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=1,1", 0, "", NULL); /* a GPU that stands twice: CUDA shows none at all */
    check(four, "", "CUDA_VISIBLE_DEVICES=GPU-8932f937-0002,2,GPU-8932f937-0002", 0, "", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=0-3", 1, "0", NULL); /* no range: strtoul() stops at the sign */
    check(four, "", "CUDA_VISIBLE_DEVICES=1gpu2,+2,03", 3, "123", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=0 1", 1, "0", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=2:0", 1, "2", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=1,,2", 1, "1", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=MIG-GPU-8932f937-0003/1/0,MIG-GPU-8932f937-0003/2/0", 1, "3",
          "a MIG instance");
    check(four, "", "CUDA_VISIBLE_DEVICES=GPU-8932f937-0002", 1, "2", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=GPU-8932F937-0002,GPU-8932f937-0000", 2, "02", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=GPU-8932", 0, "", NULL); /* the begin of four */
    check(four, "", "CUDA_VISIBLE_DEVICES=GPU-other", 0, "", NULL);
    check(four, "", "CUDA_VISIBLE_DEVICES=MIG-bb-1", 1, "1", "a MIG instance has no power of its own");
    check(four, "", "CUDA_VISIBLE_DEVICES=MIG-GPU-8932f937-0003/1/0", 1, "3", "a MIG instance");
    check(four, "", "CUDA_VISIBLE_DEVICES=MIG-GPU-8932f937-000/1/0", 0, "", NULL);
    check(four, "0", "CUDA_VISIBLE_DEVICES=3", 1, "", "not all of these GPUs are measured");
    check(four, "03", "CUDA_VISIBLE_DEVICES=3", 1, "3", NULL);
    check(four, "0", "CUDA_VISIBLE_DEVICES=GPU-of-another", 1, "", "not all of these GPUs are measured");
    check(mixed, "", "CUDA_VISIBLE_DEVICES=3", 1, "3", "count the fastest GPU first");
    check(mixed, "", "CUDA_VISIBLE_DEVICES=3;CUDA_DEVICE_ORDER=FASTEST_FIRST", 1, "3", "count the fastest GPU first");
    check(mixed, "", "CUDA_VISIBLE_DEVICES=3;CUDA_DEVICE_ORDER=PCI_BUS_ID", 1, "3", NULL);
    check(mixed, "", "CUDA_VISIBLE_DEVICES=GPU-8932f937-0003", 1, "3", NULL);
    check(mixed, "", "CUDA_VISIBLE_DEVICES=0,1,2,3", 4, "0123", NULL);
}

static void schedulers_and_containers(void **state)
{
    (void)state;
    const machine four = machine_of(4, 0, true), two = machine_of(2, 0, true);

    check(four, "", "SLURM_JOB_GPUS=0,2", 2, "02", NULL);
    check(four, "", "SLURM_JOB_GPUS=1-3", 3, "123", NULL);
    check(four, "", "SLURM_JOB_GPUS=0,2;SLURM_STEP_GPUS=2", 1, "2", NULL);
    /* without ConstrainDevices numbers are the machine's */
    check(four, "", "SLURM_JOB_GPUS=0,2;CUDA_VISIBLE_DEVICES=2", 1, "2", NULL);
    check(four, "", "SLURM_JOB_GPUS=2,3;CUDA_VISIBLE_DEVICES=0,1", 2, "23", NULL); /* with it, the job's */
    check(two, "", "SLURM_JOB_GPUS=5,6;CUDA_VISIBLE_DEVICES=0,1", 2, "01", NULL);
    check(two, "", "SLURM_JOB_GPUS=5,6", 2, "01", NULL); /* it sees these two alone */
    check(four, "", "NVIDIA_VISIBLE_DEVICES=all", 4, "0123", NULL);
    check(four, "", "NVIDIA_VISIBLE_DEVICES=void", 4, "0123", NULL); /* others have mounted them */
    check(two, "", "NVIDIA_VISIBLE_DEVICES=4,7", 2, "01", NULL);
    check(four, "", "NVIDIA_VISIBLE_DEVICES=1", 1, "1", NULL);
    check(four, "", "NVIDIA_VISIBLE_DEVICES=GPU-8932f937-0001,GPU-8932f937-0003", 2, "13", NULL);
    check(four, "", "NVIDIA_VISIBLE_DEVICES=1:0", 1, "1", "a MIG instance");
    check(four, "", "NVIDIA_VISIBLE_DEVICES=1,3;CUDA_VISIBLE_DEVICES=1", 1, "1", NULL);
    check(four, "", "container;NVIDIA_VISIBLE_DEVICES=1,3;CUDA_VISIBLE_DEVICES=1", 1, "3", NULL);
}

static void rocm(void **state)
{
    (void)state;
    const machine both = machine_of(2, 2, true), amd = machine_of(0, 4, true);

    check(amd, "", "ROCR_VISIBLE_DEVICES=3", 1, "3", NULL);
    check(amd, "", "ROCR_VISIBLE_DEVICES=GPU-00000000DEADBEE2", 1, "2", NULL);
    check(amd, "", "HIP_VISIBLE_DEVICES=1,2", 2, "12", NULL);
    check(amd, "", "CUDA_VISIBLE_DEVICES=1", 1, "1", NULL); /* HIP knows that as well */
    check(amd, "", "ROCR_VISIBLE_DEVICES=2,3;HIP_VISIBLE_DEVICES=1", 1, "3", NULL); /* of what ROCR leaves */
    check(amd, "", "ROCR_VISIBLE_DEVICES=2,3;GPU_DEVICE_ORDINAL=2,3", 2, "23", NULL);
    check(amd, "", "GPU_DEVICE_ORDINAL=0", 1, "0", NULL);
    check(amd, "", "ROCR_VISIBLE_DEVICES=", 0, "", NULL);
    check(both, "", "CUDA_VISIBLE_DEVICES=1;ROCR_VISIBLE_DEVICES=", 1, "1", NULL);
    check(both, "", "", 4, "0123", "of several makes");
    check(both, "01", "", 2, "01", NULL);
}

/* What a board draws is not what one of its partitions draws. */
static void partitions(void **state)
{
    (void)state;
    machine amd = machine_of(0, 4, true);

    amd.sensors[2].is_divided = true;
    check(amd, "", "HIP_VISIBLE_DEVICES=2", 1, "2", "nor a partition");
    check(amd, "", "HIP_VISIBLE_DEVICES=3", 1, "3", NULL);
    check(amd, "", "", 4, "0123", NULL);
}

static void boards_without_numbers(void **state)
{
    (void)state;
    const machine one = machine_of_sys(1), two = machine_of_sys(2);

    check(one, "", "HIP_VISIBLE_DEVICES=0", 1, "0", NULL);
    check(two, "1", "HIP_VISIBLE_DEVICES=0", 1, "1", NULL);
    check(two, "01", "", 2, "01", NULL);
    check(two, "", "ROCR_VISIBLE_DEVICES=1", 2, "01", "no numbers here");
    check(two, "", "ZE_AFFINITY_MASK=0", 2, "01", "no numbers here");
    check(two, "", "SLURM_JOB_GPUS=1", 2, "01", "no numbers here");
    /* who names each of them has said which are meant; one name is not said by the other */
    machine named = machine_of_sys(3);
    for (size_t i = 0; i < 2; i++)
        named.sensors[i].is_named = true;
    check(named, "01", "HIP_VISIBLE_DEVICES=0,1", 2, "01", NULL);
    check(named, "012", "HIP_VISIBLE_DEVICES=0,1", 3, "012", "no numbers here");
    /* makes are told apart by what boards are called, and one make is one, with numbers or without */
    machine makes = machine_of_sys(2), beside = machine_of(0, 1, true), amd = machine_of_sys(2);
    for (size_t i = 0; i < 2; i++) {
        const char *make = i ? "Intel" : "AMD";
        snprintf(makes.sensors[i].device, sizeof makes.sensors[i].device, "%s GPU 0000:0%zu:00.0", make, i);
        snprintf(amd.sensors[i].device, sizeof amd.sensors[i].device, "AMD GPU 0000:0%zu:00.0", i);
    }
    beside.sensors[1] = amd.sensors[0]; /* in the place of the package, which is behind it now */
    beside.sensors[2] = amd.sensors[2];
    beside.n = 3;
    check(makes, "", "", 2, "01", "of several makes");
    check(makes, "1", "", 1, "1", NULL);
    check(amd, "", "", 2, "01", NULL);
    check(beside, "", "", 2, "01", NULL);
}

/* What another process has of them is in its environment. */
static void of_another_process(void **state)
{
    (void)state;
    adept_visible_words words = {.in_container = false};
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ready[1], STDOUT_FILENO);
        execl("/usr/bin/env", "env", "-i", "A=1", "CUDA_VISIBLE_DEVICES=2", "HIP_VISIBLE_DEVICES=", "sh", "-c",
              "echo; kill -STOP $$", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    setenv("ROCR_VISIBLE_DEVICES", "7", 1);
    assert_true(adept_visible_own(&words));
    assert_string_equal(words.values[ADEPT_VISIBLE_ROCR], "7");
    assert_true(adept_visible_of(&words, child));
    assert_string_equal(words.values[ADEPT_VISIBLE_CUDA], "2");
    assert_string_equal(words.values[ADEPT_VISIBLE_HIP], "");
    assert_null(words.values[ADEPT_VISIBLE_ROCR]);
    assert_false(words.in_container);
    assert_false(adept_visible_of(&words, -1));
    assert_string_equal(words.values[ADEPT_VISIBLE_CUDA], "2");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    adept_visible_free(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuda),
        cmocka_unit_test(schedulers_and_containers),
        cmocka_unit_test(rocm),
        cmocka_unit_test(partitions),
        cmocka_unit_test(boards_without_numbers),
        cmocka_unit_test(of_another_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
