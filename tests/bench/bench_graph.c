/* How the profile of a graph scales: generated chains of 1,000 to 100,000 operators, every tenth a matrix product, each
 * in a module of its own. Prints time and memory per operator and their ratio to the smallest graph's: 1 is linear. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "adept_handlers.h"
#include "adept_profile.h"

#define REPEATS 3

typedef struct result {
    double build_s, memory_bytes;
    size_t n_ops;
} result;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what, const adept_error *err)
{
    fprintf(stderr, "bench_graph: %s: %s\n", what, err->message);
    exit(1);
}

static int32_t emit(adept_graph_builder *b, const char *op, int32_t module, int n, const int32_t *inputs,
                    const char *const *names)
{
    adept_error err = {0};
    int32_t out = adept_graph_builder_value(b);
    adept_node_desc desc = {.op = op,
                            .overload = "",
                            .module = module,
                            .n_inputs = n,
                            .inputs = inputs,
                            .input_names = names,
                            .n_outputs = 1,
                            .outputs = &out,
                            .param = -1};
    if (adept_graph_builder_node(b, &desc, &err)) die("node", &err);
    return out;
}

/* linear, then nine of relu and add, over and over; `distinct` widths in turn, so that merging has something to do */
static adept_graph *chain(size_t n_nodes)
{
    static const char *const linear_names[] = {"input", "weight", "bias"}, *const add_names[] = {"self", "other",
                                                                                                 "alpha"};
    adept_graph_builder *b = adept_graph_builder_new();
    adept_error err = {0};
    adept_graph_input input = {.name = "x",
                               .value = adept_graph_builder_value(b),
                               .has_shape = true,
                               .dtype = ADEPT_F32,
                               .ndim = 2,
                               .dims = {8, 64}};
    adept_graph_builder_input(b, &input);
    adept_value none = {.kind = ADEPT_VALUE_NONE}, one = {ADEPT_VALUE_INT, {.i = 1}};
    int32_t none_id = adept_graph_builder_constant(b, 0, &none, &err),
            one_id = adept_graph_builder_constant(b, 0, &one, &err);
    int32_t x = input.value;
    for (size_t i = 0; i < n_nodes; i++) {
        char path[64];
        snprintf(path, sizeof path, "layers.%zu.op%zu", i / 10, i % 10);
        int32_t module = adept_graph_builder_module(b, path, "torch.nn.Module");
        if (i % 10 == 0) {
            char name[80];
            snprintf(name, sizeof name, "%s.weight", path);
            adept_param p = {
                .name = name, .dtype = ADEPT_F32, .ndim = 2, .dims = {64, 64}, .requires_grad = true, .n_names = 1};
            int32_t w = adept_graph_builder_param_ref(b, module, adept_graph_builder_param(b, &p), &err);
            x = emit(b, "aten::linear", module, 3, (int32_t[]){x, w, none_id}, linear_names);
        } else if (i % 2) {
            x = emit(b, "aten::relu", module, 1, &x, add_names);
        } else {
            x = emit(b, "aten::add", module, 3, (int32_t[]){x, x, one_id}, add_names);
        }
    }
    adept_graph *g = NULL;
    if (adept_graph_builder_finish(b, 1, &x, &g, &err)) die("finish", &err);
    return g;
}

static result measure(size_t n_nodes)
{
    adept_graph *g = chain(n_nodes);
    adept_workload_config config = {0};
    result best = {1e9, 0, 0};
    for (int i = 0; i < REPEATS; i++) {
        adept_profile *p = NULL;
        adept_error err = {0};
        double start_s = now_s();
        if (adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err)) die("profile", &err);
        double took_s = now_s() - start_s;
        if (took_s < best.build_s) best.build_s = took_s;
        best.n_ops = p->n_ops;
        adept_profile_free(p);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    best.memory_bytes = 1024.0 * (double)usage.ru_maxrss;
    adept_graph_free(g);
    return best;
}

/* Each size in a process of its own, so that peak memory is its own. */
static result in_child(size_t n_nodes)
{
    int ends[2];
    result r = {0};
    if (pipe(ends)) exit(1);
    pid_t child = fork();
    if (child == 0) {
        r = measure(n_nodes);
        _exit(write(ends[1], &r, sizeof r) != sizeof r);
    }
    int status = 1;
    if (child < 0 || read(ends[0], &r, sizeof r) != sizeof r) fprintf(stderr, "bench_graph: no result\n");
    waitpid(child, &status, 0);
    if (status) exit(1);
    close(ends[0]);
    close(ends[1]);
    return r;
}

int main(void)
{
    static const size_t sizes[] = {1000, 3000, 10000, 30000, 100000};
    result empty = in_child(1), first = {0};
    printf("%10s %10s %12s %12s %14s %14s\n", "operators", "merged", "profile s", "us/operator", "peak MB",
           "time, mem ratio");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        result r = in_child(sizes[i]);
        double n = (double)sizes[i], bytes = r.memory_bytes - empty.memory_bytes;
        if (i == 0) first = (result){r.build_s / n, bytes / n, 0};
        printf("%10zu %10zu %12.4f %12.3f %14.1f %8.2f %5.2f\n", sizes[i], r.n_ops, r.build_s, 1e6 * r.build_s / n,
               r.memory_bytes / 1e6, r.build_s / n / first.build_s, bytes / n / first.memory_bytes);
    }
    return 0;
}
