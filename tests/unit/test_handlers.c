/* Every handler's worked examples, and the rules every handler keeps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "adept_handlers.h"
#include "call_text.h"

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b); /* infinite is close to nothing */
}

static int check(const char *what, double got, double want)
{
    if (close_to(got, want)) return 0;
    print_error("    %s: %.17g, expected %.17g\n", what, got, want);
    return 1;
}

static int check_counts(const char *pass, adept_case_counts got, adept_case_counts want)
{
    char what[64];
    int bad = 0;
    bool runs = want.gemm + want.conv + want.alu + want.read + want.written > 0;
    if (runs && want.launches == 0) want.launches = 1;
#define X(field) snprintf(what, sizeof what, "%s.%s", pass, #field), bad += check(what, got.field, want.field);
    X(gemm) X(conv) X(alu) X(read) X(written) X(launches)
#undef X
    return bad;
}

/* What one row is taken over, of every kernel that has rows and of no other. */
static int check_rows(const adept_cost *cost, double expected)
{
    double found = 0;
    int bad = 0;
    for (size_t i = 0; i < cost->n_kernels; i++) {
        const adept_kernel *k = &cost->kernels[i];
        bool rows = k->family == ADEPT_FAMILY_SOFTMAX || k->family == ADEPT_FAMILY_NORM ||
                    k->family == ADEPT_FAMILY_BATCH_NORM;
        bad += check("row_elements", k->row_elements, rows ? expected : 0);
        found = fmax(found, k->row_elements);
    }
    return bad + check("row_elements", found, expected);
}

/* Elements of the largest tensor that a call names. */
static double largest_tensor(const char *call)
{
    double most = 1;
    for (const char *at = strchr(call, ':'); at; at = strchr(at + 1, ':')) {
        double n = 1;
        int size, length;
        for (const char *d = at + 1; sscanf(d, "%d%n", &size, &length) == 1;
             d += d[length] == 'x' ? length + 1 : length)
            n *= size;
        most = fmax(most, n);
    }
    return most;
}

/* A launch over elements on their own has no more of them than the largest tensor and writes at most 16 bytes
 * for each of them. Attention, recurrences and sparse products have tensors in between that no text names. */
static int check_elements(const char *kind, const adept_cost *cost, const char *call)
{
    static const char *const between[] = {"attention", "matmul", "rnn", "sparse", "embedding"};
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        if (strcmp(kind, between[i]) == 0) return 0;
    int bad = 0;
    for (size_t i = 0; i < cost->n_kernels; i++) {
        const adept_kernel *k = &cost->kernels[i];
        if (k->unit != ADEPT_UNIT_ALU) continue;
        if (k->elements <= k->launches * largest_tensor(call) && k->bytes_written <= 16 * k->elements) continue;
        print_error("    kernel %zu has %g elements, %g launches and writes %g bytes\n", i, k->elements, k->launches,
                    k->bytes_written);
        bad++;
    }
    return bad;
}

static int check_case(const char *kind, const adept_handler_case *example)
{
    call_text t;
    char outputs[2000];
    const char *error = call_text_run(&t, adept_handlers(), example->call);
    int bad = 0;
    if (error) {
        print_error("    %s\n", error);
        call_text_free(&t);
        return 1;
    }
    call_text_print(&t, outputs, sizeof outputs);
    const char *arrow = strstr(example->call, " ->"), *expected = arrow ? arrow + 3 : "nothing";
    expected += *expected == ' ';
    if (strcmp(outputs, expected)) {
        print_error("    outputs: %s, expected %s\n", outputs, expected);
        bad++;
    }
    bad += check_counts("forward", call_text_counts(&t, ADEPT_FORWARD), example->forward);
    bad += check_counts("backward", call_text_counts(&t, ADEPT_BACKWARD), example->backward);
    bad += check("saved", t.cost.saved_bytes, example->backward.saved);
    const adept_kernel *product = NULL;
    for (size_t i = 0; i < t.cost.n_kernels && !product; i++)
        if (t.cost.kernels[i].unit != ADEPT_UNIT_ALU) product = &t.cost.kernels[i];
    bad += check("m", product ? product->m : 0, example->forward.product[0]);
    bad += check("n", product ? product->n : 0, example->forward.product[1]);
    bad += check("k", product ? product->k : 0, example->forward.product[2]);
    bad += check("batch", product ? product->batch : 0, example->forward.product[3]);
    bad += check_rows(&t.cost, example->forward.row_elements);
    bad += check_elements(kind, &t.cost, example->call);
    for (size_t i = 0; i < t.cost.n_kernels; i++)
        if (!adept_kernel_is_sane(&t.cost.kernels[i])) {
            print_error("    kernel %zu can be none\n", i);
            bad++;
        }
    call_text_free(&t);
    return bad;
}

static void worked_examples(void **state)
{
    (void)state;
    int failed = 0, n = 0;
    for (const adept_handler *const *h = adept_handlers()->handlers; *h; h++)
        for (const adept_handler_case *c = (*h)->cases; c->call; c++, n++)
            if (check_case((*h)->kind, c)) {
                print_error("  ^ %s: \"%s\": %s\n", (*h)->kind, c->name, c->call);
                failed++;
            }
    print_message("%d worked examples\n", n);
    assert_int_equal(failed, 0);
    assert_true(n > 0);
}

static void handlers_are_complete(void **state)
{
    (void)state;
    for (const adept_handler *const *h = adept_handlers()->handlers; *h; h++) {
        assert_non_null((*h)->kind);
        assert_non_null((*h)->shape);
        assert_non_null((*h)->ops);
        assert_non_null((*h)->ops[0].names);
        assert_non_null((*h)->cases);
        assert_non_null((*h)->cases[0].call);
    }
}

static void operator_names_are_unique(void **state)
{
    (void)state;
    for (const adept_handler *const *h = adept_handlers()->handlers; *h; h++)
        for (const adept_op *row = (*h)->ops; row->names; row++) {
            char name[ADEPT_OP_NAME_BYTES], other_name[ADEPT_OP_NAME_BYTES];
            for (const char *at = row->names; adept_op_next_name(&at, name);) {
                int found = 0;
                for (const adept_handler *const *g = adept_handlers()->handlers; *g; g++)
                    for (const adept_op *other = (*g)->ops; other->names; other++)
                        for (const char *o = other->names; adept_op_next_name(&o, other_name);)
                            found += !strcmp(name, other_name);
                if (found != 1) print_error("%s is defined %d times\n", name, found);
                assert_int_equal(found, 1);
            }
        }
}

typedef struct argument {
    const char *begin, *end; /* of its value, in the text of a call */
} argument;

#define MAX_ARGUMENTS 32

static int find_arguments(argument found[MAX_ARGUMENTS], const char *call)
{
    const char *start = strchr(call, '(') + 1;
    int n = 0;
    while (*start && *start != ')') {
        const char *equals = strchr(start, '='), *end = start;
        int depth = 0;
        while (*end && (depth > 0 || (*end != ',' && *end != ')'))) {
            depth += (*end == '[') - (*end == ']');
            end++;
        }
        assert_true(n < MAX_ARGUMENTS);
        found[n++] = (argument){equals && equals < end ? equals + 1 : start, end};
        start = *end == ',' ? end + 1 : end;
        while (*start == ' ')
            start++;
    }
    return n;
}

/* Of two values of a call, the second NULL: only the first. Any answer will do. */
static void call_wrongly(const char *op, const char *call, const argument *one, const char *first, const argument *two,
                         const char *second)
{
    char text[1000];
    call_text t;
    const char *arguments = strchr(call, '(');
    if (two)
        snprintf(text, sizeof text, "%s%.*s%s%.*s%s%s", op, (int)(one->begin - arguments), arguments, first,
                 (int)(two->begin - one->end), one->end, second, two->end);
    else
        snprintf(text, sizeof text, "%s%.*s%s%s", op, (int)(one->begin - arguments), arguments, first, one->end);
    call_text_run(&t, adept_handlers(), text);
    call_text_free(&t);
}

/* Each argument in turn of the wrong kind, or none. @return how many calls */
static int call_with_wrong(const char *op, const char *call)
{
    static const char *const wrong[] = {"none", "3", "-1", "0.5", "[]", "[1]", "[-7,0]", "f32:", "f32:0", "i64:3x0x5", "\"x\"",
                                        "unknown", "[none, f32:2x2]", "[f32:2x2, none]", "[[]]", "f32:3x4#5",
                                        "9000000000000000000", "f32:2x3x4x5x6x7x8x9"};
    const size_t n_wrong = sizeof wrong / sizeof *wrong;
    argument given[MAX_ARGUMENTS];
    int n = find_arguments(given, call);
    for (int i = 0; i < n; i++)
        for (size_t w = 0; w < n_wrong; w++)
            call_wrongly(op, call, &given[i], wrong[w], NULL, NULL);
    return n * (int)n_wrong;
}

/* Each two arguments numbers at the ends of what there is. @return how many calls */
static int call_with_extremes(const char *call)
{
    static const char *const ends[] = {"-9223372036854775808", "9223372036854775807", "-1", "0", "[9223372036854775807]"};
    const size_t n_ends = sizeof ends / sizeof *ends;
    char op[ADEPT_OP_NAME_BYTES];
    argument given[MAX_ARGUMENTS];
    int n = find_arguments(given, call);
    snprintf(op, sizeof op, "%.*s", (int)(strchr(call, '(') - call), call);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            for (size_t both = 0; both < n_ends * n_ends; both++)
                call_wrongly(op, call, &given[i], ends[both / n_ends], &given[j], ends[both % n_ends]);
    return n * (n - 1) / 2 * (int)(n_ends * n_ends);
}

/* No handler may crash or loop: each name of each operator is called as the worked examples of its handler are, with
 * arguments that make no sense. */
static void survive_wrong_arguments(void **state)
{
    (void)state;
    int calls = 0;
    for (const adept_handler *const *h = adept_handlers()->handlers; *h; h++)
        for (const adept_op *row = (*h)->ops; row->names; row++) {
            char name[ADEPT_OP_NAME_BYTES];
            for (const char *at = row->names; adept_op_next_name(&at, name);)
                for (const adept_handler_case *c = (*h)->cases; c->call; c++)
                    calls += call_with_wrong(name, c->call);
        }
    print_message("%d calls with wrong arguments\n", calls);
    assert_true(calls > 100000);
}

static void survive_extremes(void **state)
{
    (void)state;
    int calls = 0;
    for (const adept_handler *const *h = adept_handlers()->handlers; *h; h++)
        for (const adept_handler_case *c = (*h)->cases; c->call; c++)
            calls += call_with_extremes(c->call);
    print_message("%d calls with extremes\n", calls);
    assert_true(calls > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_are_complete),
        cmocka_unit_test(operator_names_are_unique),
        cmocka_unit_test(worked_examples),
        cmocka_unit_test(survive_wrong_arguments),
        cmocka_unit_test(survive_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
