/* The pickle machine on hand-assembled programs. Opcodes as in Python's pickletools:
 * ) ] } empty tuple, list, dict; ( mark; t tuple; K M J ints of 1, 2, 4 bytes; q h memo put, get; R reduce; . stop. */
#include "pickle.h"
#include "cmocka_test.h"

static adept_arena *arena;
static adept_error err;

static int set_up(void **state)
{
    (void)state;
    arena = adept_arena_new();
    return arena ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    adept_arena_free(arena);
    return 0;
}

static adept_status parse_bytes(adept_pickle_value *v, const void *data, size_t size)
{
    /* An exact copy on the heap, so that sanitizers see any read beyond the end. */
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    adept_status status = adept_pickle_parse(v, arena, "test.pkl", copy, size, &err);
    if (status == ADEPT_OK && v->kind == ADEPT_PICKLE_TEXT)
        v->u.text = adept_arena_strndup(arena, v->u.text, v->n_bytes);
    free(copy);
    return status;
}

#define PARSE(v, program) parse_bytes(v, program, sizeof(program) - 1)
#define REFUSES(program, part)                                                                                         \
    do {                                                                                                               \
        adept_pickle_value v_;                                                                                         \
        assert_int_equal(PARSE(&v_, program), ADEPT_E_INVALID);                                                        \
        if (!strstr(err.message, part)) fail_msg("message is \"%s\"", err.message);                                    \
    } while (0)

static void test_scalars(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        size_t size;
        int64_t value;
    } ints[] = {
        {"K\xff.", 3, 255},
        {"M\x34\x12.", 4, 0x1234},
        {"J\xff\xff\xff\xff.", 6, -1},
        {"J\x00\x00\x00\x80.", 6, INT32_MIN},
        {"\x8a\x00.", 3, 0},
        {"\x8a\x01\xfe.", 4, -2},
        {"\x8a\x03\xff\xff\x7f.", 6, 0x7fffff},
        {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", 11, INT64_MAX},
    };
    adept_pickle_value v;
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        assert_int_equal(parse_bytes(&v, ints[i].program, ints[i].size), ADEPT_OK);
        assert_int_equal(v.kind, ADEPT_PICKLE_INT);
        assert_true(v.u.i == ints[i].value);
    }
    assert_int_equal(PARSE(&v, "\x80\x02\x88."), ADEPT_OK);
    assert_true(v.kind == ADEPT_PICKLE_BOOL && v.u.b);
    assert_int_equal(PARSE(&v, "N."), ADEPT_OK);
    assert_int_equal(v.kind, ADEPT_PICKLE_NONE);
    assert_int_equal(PARSE(&v, "G\x3f\xf8\x00\x00\x00\x00\x00\x00."), ADEPT_OK); /* 1.5, big-endian */
    assert_true(v.kind == ADEPT_PICKLE_FLOAT && v.u.f == 1.5);
    assert_int_equal(PARSE(&v, "X\x05\x00\x00\x00hello."), ADEPT_OK);
    assert_true(adept_pickle_is(&v, ADEPT_PICKLE_TEXT, "hello"));
    assert_false(adept_pickle_is(&v, ADEPT_PICKLE_TEXT, "hell"));
    assert_false(adept_pickle_is(&v, ADEPT_PICKLE_GLOBAL, "hello"));
}

static void test_containers(void **state)
{
    (void)state;
    adept_pickle_value v;
    /* {"a": [1, 2], "b": (3,)} with SETITEMS, APPENDS and TUPLE1 */
    assert_int_equal(PARSE(&v, "}(U\001a](K\001K\002eU\001bK\003\x85u."), ADEPT_OK);
    assert_int_equal(v.kind, ADEPT_PICKLE_DICT);
    assert_int_equal(v.u.items->n, 4);
    const adept_pickle_value *list = &v.u.items->values[1], *tuple = &v.u.items->values[3];
    assert_int_equal(list->kind, ADEPT_PICKLE_LIST);
    assert_int_equal(list->u.items->n, 2);
    assert_int_equal(list->u.items->values[1].u.i, 2);
    assert_int_equal(tuple->kind, ADEPT_PICKLE_TUPLE);
    assert_int_equal(tuple->u.items->n, 1);
    assert_int_equal(v.u.items->depth, 2);
    /* a global called with (7,), then given a state: object of three items */
    char program[] = "cmod\nname\nK\007\x85R}b.";
    assert_int_equal(PARSE(&v, program), ADEPT_OK);
    assert_int_equal(v.kind, ADEPT_PICKLE_OBJECT);
    assert_int_equal(v.u.items->n, 3);
    assert_int_equal(v.u.items->values[1].u.items->values[0].u.i, 7);
    assert_int_equal(v.u.items->values[2].kind, ADEPT_PICKLE_DICT);
    /* a shared list is one container */
    assert_int_equal(PARSE(&v, "]q\005h\005\x86."), ADEPT_OK);
    assert_ptr_equal(v.u.items->values[0].u.items, v.u.items->values[1].u.items);
}

static void test_refusals(void **state)
{
    (void)state;
    REFUSES("", "has no end");
    REFUSES("N", "has no end");
    REFUSES("R.", "empty stack"); /* this one kills libtorch 1.13 */
    REFUSES("NR.", "empty stack");
    REFUSES("t.", "mark that was never set");
    REFUSES("(.", "does not end with one value");
    REFUSES("NN.", "does not end with one value");
    REFUSES(".", "does not end with one value");
    REFUSES("N(\x85.", "empty stack"); /* what lies below a mark is out of reach */
    REFUSES("N(0.", "empty stack");
    REFUSES("h\001.", "never numbered");
    REFUSES("Nq\001h\002.", "never numbered");
    REFUSES("Nr\xff\xff\xff\xff.", "beyond its own size");
    REFUSES("]K\001K\002s.", "not a container");
    REFUSES("N(K\001e.", "not a container");
    REFUSES("}(K\001u.", "key without a value");
    REFUSES("N}b.", "not an object");
    REFUSES("X\xff\xff\xff\xffhello.", "within a string");
    REFUSES("K", "within an opcode");
    REFUSES("\x8a\x09"
            "123456789.",
            "more than 64 bits");
    REFUSES("cmod\nname", "within a name");
    REFUSES("i", "never writes");
    REFUSES("\x80\x63.", "protocol");
    REFUSES("]q\001h\001a.", "contains itself");
    REFUSES("]q\001]q\002h\001aa.", "contains itself"); /* through another list */
}

/* n tuples around None, from the inside out. */
static adept_status nest_tuples(size_t n)
{
    char *program = malloc(n + 2);
    assert_non_null(program);
    program[0] = 'N';
    memset(program + 1, 0x85, n);
    program[n + 1] = '.';
    adept_pickle_value v;
    adept_status status = parse_bytes(&v, program, n + 2);
    free(program);
    return status;
}

static void test_nesting(void **state)
{
    (void)state;
    assert_int_equal(nest_tuples(ADEPT_PICKLE_MAX_DEPTH), ADEPT_OK);
    assert_int_equal(nest_tuples(ADEPT_PICKLE_MAX_DEPTH + 1), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "too deeply"));
    assert_int_equal(nest_tuples(1000000), ADEPT_E_INVALID);
}

/* Outside in with the outermost list kept: ]q0 ]q1 then h0 h1 a 0 ... : parent filled before child. */
static void test_outside_in(void **state)
{
    (void)state;
    for (int n = 500; n <= 2000; n += 1500) {
        char *program = malloc((size_t)n * 24 + 64), *at = program;
        assert_non_null(program);
        for (int i = 0; i < n; i++) { /* n empty lists, numbered and dropped */
            const char number[4] = {(char)(i & 255), (char)(i >> 8), 0, 0};
            *at++ = ']';
            *at++ = 'r';
            memcpy(at, number, 4);
            at += 4;
            *at++ = '0';
        }
        for (int i = 0; i + 1 < n; i++) { /* list i takes list i + 1, which is still empty */
            const char parent[4] = {(char)(i & 255), (char)(i >> 8), 0, 0};
            const char child[4] = {(char)((i + 1) & 255), (char)((i + 1) >> 8), 0, 0};
            *at++ = 'j';
            memcpy(at, parent, 4);
            at += 4;
            *at++ = 'j';
            memcpy(at, child, 4);
            at += 4;
            *at++ = 'a';
            *at++ = '0';
        }
        memcpy(at, "h\000.", 3);
        at += 3;
        adept_pickle_value v;
        adept_status status = parse_bytes(&v, program, (size_t)(at - program));
        assert_int_equal(status, n <= ADEPT_PICKLE_MAX_DEPTH ? ADEPT_OK : ADEPT_E_INVALID);
        if (status == ADEPT_OK) assert_int_equal(v.u.items->depth, n);
        free(program);
    }
}

static void test_every_truncation(void **state)
{
    (void)state;
    static const char program[] = "\x80\x02}q\000(U\001a](K\001M\002\001e\x8a\001\005cmod\nname\n(J\001\000\000\000tR}b"
                                  "G\x3f\xf8\x00\x00\x00\x00\x00\x00X\001\000\000\000zu.";
    adept_pickle_value v;
    assert_int_equal(PARSE(&v, program), ADEPT_OK);
    for (size_t n = 0; n < sizeof program - 1; n++)
        assert_int_equal(parse_bytes(&v, program, n), ADEPT_E_INVALID);
}

static void test_random_bytes(void **state)
{
    (void)state;
    uint32_t seed = 12345;
    unsigned char program[200];
    adept_pickle_value v;
    for (int round = 0; round < 20000; round++) {
        for (size_t i = 0; i < sizeof program; i++) {
            seed = seed * 1664525u + 1013904223u;
            static const char often[] = "()]}tKqhRaeus0N.\x85\x86\x87Q";
            unsigned char byte = (unsigned char)(seed >> 24);
            program[i] = (seed & 0xc0000u) ? (unsigned char)often[byte % (sizeof often - 1)] : byte;
        }
        adept_status status = parse_bytes(&v, program, sizeof program);
        assert_true(status == ADEPT_OK || status == ADEPT_E_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scalars, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_containers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nesting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outside_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_truncation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_bytes, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("pickle", tests, NULL, NULL);
}
