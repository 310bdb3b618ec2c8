/* Every handler's worked cases, handlers/op_*.cases, and the rules every handler keeps. */
#include <glob.h>
#include "adept_file.h"
#include "adept_handlers.h"
#include "worked_cases.h"
#include "cmocka_test.h"

static worked_cases all;

static char *text_of(const char *path)
{
    char *text;
    size_t size;
    adept_error err;
    if (adept_file_read(&text, &size, path, 1 << 20, &err)) fail_msg("%s", err.message);
    return text;
}

/* Each op_NAME.c has its op_NAME.cases, which call what stands in it. */
static int read_cases(void **state)
{
    (void)state;
    glob_t sources, cases;
    adept_error err;
    assert_int_equal(glob(ADEPT_SOURCE_DIR "/handlers/op_*.c", 0, NULL, &sources), 0);
    assert_int_equal(glob(ADEPT_SOURCE_DIR "/handlers/op_*.cases", 0, NULL, &cases), 0);
    assert_int_equal(cases.gl_pathc, sources.gl_pathc);
    for (size_t i = 0; i < cases.gl_pathc; i++) {
        const char *path = cases.gl_pathv[i];
        size_t first = all.n;
        char *text = text_of(path), *source;
        if (worked_cases_parse(&all, adept_handlers(), path, text, &err)) fail_msg("%s", err.message);
        free(text);
        source = text_of(sources.gl_pathv[i]);
        for (; first < all.n; first++) {
            char op[ADEPT_OP_NAME_BYTES];
            const char *call = all.items[first].call;
            snprintf(op, sizeof op, "%.*s", (int)(strcspn(call, "(") - (call[strcspn(call, "(") - 1] == '_')), call);
            if (!strstr(source, op)) fail_msg("%s:%d: %s is of another file", path, all.items[first].line, op);
        }
        free(source);
    }
    globfree(&sources);
    globfree(&cases);
    return 0;
}

static int free_cases(void **state)
{
    (void)state;
    worked_cases_free(&all);
    return 0;
}

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

static int check_counts(const char *pass, call_counts got, call_counts want)
{
    char what[64];
    int bad = 0;
    bool runs = want.gemm + want.conv + want.alu + want.read + want.written > 0;
    if (runs && want.launches == 0) want.launches = 1;
#define X(field) snprintf(what, sizeof what, "%s.%s", pass, #field), bad += check(what, got.field, want.field);
    X(gemm)
    X(conv) X(alu) X(read) X(written) X(launches)
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
        bool rows =
            k->family == ADEPT_FAMILY_SOFTMAX || k->family == ADEPT_FAMILY_NORM || k->family == ADEPT_FAMILY_BATCH_NORM;
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

static int check_case(const worked_case *example)
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
    bad += check_elements(example->handler->kind, &t.cost, example->call);
    for (size_t i = 0; i < t.cost.n_kernels; i++)
        if (!adept_kernel_is_sane(&t.cost.kernels[i])) {
            print_error("    kernel %zu can be none\n", i);
            bad++;
        }
    call_text_free(&t);
    return bad;
}

static void cases_are_right(void **state)
{
    (void)state;
    int failed = 0;
    for (const worked_case *c = all.items; c < all.items + all.n; c++)
        if (check_case(c)) {
            print_error("  ^ %s:%d: %s\n", c->file, c->line, c->name);
            failed++;
        }
    print_message("%zu worked cases\n", all.n);
    assert_int_equal(failed, 0);
}

static void handlers_are_complete(void **state)
{
    (void)state;
    for (const adept_handler *const *h = adept_handlers()->handlers; *h; h++) {
        size_t i = 0;
        assert_non_null((*h)->kind);
        assert_non_null((*h)->shape);
        assert_non_null((*h)->ops);
        assert_non_null((*h)->ops[0].names);
        while (i < all.n && all.items[i].handler != *h)
            i++;
        if (i == all.n) fail_msg("%s has no worked case", (*h)->kind);
    }
}

/* What a file of cases may not be. */
static void wrong_cases_are_refused(void **state)
{
    (void)state;
#define RELU "a\n    aten::relu(self=f32:2) -> f32:2\n"
    static const char *const texts[][2] = {
        {"", "x:0: ends without a call"},
        {"# a comment\n\n", "x:0: ends without a call"},
        {"a\n", "x:1: ends without a call"},
        {"a\n\nb\n", "x:3: out of place: b"},
        {"    aten::relu(self=f32:2) -> f32:2\n", "x:1: out of place: aten::relu(self=f32:2) -> f32:2"},
        {"      a\n", "x:1: out of place: a"},
        {"a\n  aten::relu(self=f32:2) -> f32:2\n", "x:2: out of place: aten::relu(self=f32:2) -> f32:2"},
        {"a\n    forward alu 2\n", "x:2: no such operator: forward alu 2"},
        {"a\n    aten::relo(self=f32:2) -> f32:2\n", "x:2: no such operator: aten::relo"},
        {RELU "    forwards alu 2\n", "x:3: out of place: forwards alu 2"},
        {RELU "    backward alu 2\n    forward alu 2\n", "x:4: out of place: forward alu 2"},
        {RELU "    forward alu 2\n    forward read 2\n", "x:4: out of place: forward read 2"},
        {RELU "    forward alu 0,\n        # why\n        alu 2\n", "x:3: for the second time: alu 2"},
        {RELU "    forward alu 2, wrote 2\n", "x:3: no number has this name here: wrote 2"},
        {RELU "    forward alu 2, saved 2\n", "x:3: no number has this name here: saved 2"},
        {RELU "    backward row_elements 2\n", "x:3: no number has this name here: row_elements 2"},
        {RELU "    forward alu 2,\n", "x:3: no number has this name here: "},
        {RELU "    forward alu=2\n", "x:3: no number has this name here: alu=2"},
        {RELU "    forward alu\n", "x:3: no whole number from 0 to 2^53: alu"},
        {RELU "    forward alu 2.5 * 3\n", "x:3: no whole number from 0 to 2^53: alu 2.5 * 3"},
        {RELU "    forward alu 1 - 2\n", "x:3: no whole number from 0 to 2^53: alu 1 - 2"},
        {RELU "    forward alu 9007199254740993\n", ""}, /* read as 2^53 */
        {RELU "    forward alu 9007199254740994\n", "x:3: no whole number from 0 to 2^53: alu 9007199254740994"},
        {RELU "    forward alu 1e999\n", "x:3: no whole number from 0 to 2^53: alu 1e999"},
        {RELU "    forward alu 2 *\n", "x:3: no whole number from 0 to 2^53: alu 2 *"},
        {RELU "    forward alu (2\n", "x:3: no whole number from 0 to 2^53: alu (2"},
        {RELU "    forward alu 2)\n", "x:3: not understood: )"},
        {RELU "    forward alu 2 read 2\n", "x:3: not understood: read 2"},
        {RELU "    forward alu 2 / 2\n", "x:3: not understood: / 2"},
        {RELU "a\n", "x:3: a name for the second time: a"},
        {RELU "b\n    aten::relu(self=f32:2)\n        -> f32:2\n",
         "x:4: a call for the second time: aten::relu(self=f32:2) -> f32:2"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        worked_cases cases = {0};
        adept_error err = {0};
        worked_cases_parse(&cases, adept_handlers(), "x", texts[i][0], &err);
        assert_string_equal(err.message, texts[i][1]);
        worked_cases_free(&cases);
    }
}

static void a_case_is_read(void **state)
{
    (void)state;
    worked_cases cases = {0};
    const char *text = "# why\n" RELU "    forward alu 2 * (3 + 4) - 1, m 2, n 3, k 4,\n            batch 5\n"
                       "    # why\n    backward  written 1.5 * 2, saved 8";
    assert_int_equal(worked_cases_parse(&cases, adept_handlers(), "x", text, NULL), ADEPT_OK);
    assert_int_equal(cases.n, 1);
    const worked_case *c = cases.items;
    assert_string_equal(c->name, "a");
    assert_string_equal(c->call, "aten::relu(self=f32:2) -> f32:2");
    assert_string_equal(c->handler->kind, "activation");
    assert_string_equal(c->file, "x");
    assert_int_equal(c->line, 2);
    assert_true(c->forward.alu == 13 && c->forward.product[0] == 2 && c->forward.product[1] == 3);
    assert_true(c->forward.product[2] == 4 && c->forward.product[3] == 5 && c->forward.written == 0);
    assert_true(c->backward.written == 3 && c->backward.saved == 8 && c->backward.alu == 0);
    worked_cases_free(&cases);
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
    static const char *const wrong[] = {"none",
                                        "3",
                                        "-1",
                                        "0.5",
                                        "[]",
                                        "[1]",
                                        "[-7,0]",
                                        "f32:",
                                        "f32:0",
                                        "i64:3x0x5",
                                        "\"x\"",
                                        "unknown",
                                        "[none, f32:2x2]",
                                        "[f32:2x2, none]",
                                        "[[]]",
                                        "f32:3x4#5",
                                        "9000000000000000000",
                                        "f32:2x3x4x5x6x7x8x9"};
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
    static const char *const ends[] = {"-9223372036854775808", "9223372036854775807", "-1", "0",
                                       "[9223372036854775807]"};
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

/* No handler may crash or loop: each name of each operator is called as the worked cases of its handler are, with
 * arguments that make no sense. */
static void survive_wrong_arguments(void **state)
{
    (void)state;
    int calls = 0;
    for (const worked_case *c = all.items; c < all.items + all.n; c++)
        for (const adept_op *row = c->handler->ops; row->names; row++) {
            char name[ADEPT_OP_NAME_BYTES];
            for (const char *at = row->names; adept_op_next_name(&at, name);)
                calls += call_with_wrong(name, c->call);
        }
    print_message("%d calls with wrong arguments\n", calls);
    assert_true(calls > 100000);
}

static void survive_extremes(void **state)
{
    (void)state;
    int calls = 0;
    for (const worked_case *c = all.items; c < all.items + all.n; c++)
        calls += call_with_extremes(c->call);
    print_message("%d calls with extremes\n", calls);
    assert_true(calls > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_are_complete),   cmocka_unit_test(operator_names_are_unique),
        cmocka_unit_test(cases_are_right),         cmocka_unit_test(a_case_is_read),
        cmocka_unit_test(wrong_cases_are_refused), cmocka_unit_test(survive_wrong_arguments),
        cmocka_unit_test(survive_extremes),
    };
    return cmocka_run_group_tests(tests, read_cases, free_cases);
}
