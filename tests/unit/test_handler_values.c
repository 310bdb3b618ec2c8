/* Numbers, strings and lists on the host: what Python 3 says, tried there one by one. "?" is left open by adept. */
#include "adept_handlers.h"
#include "call_text.h"
#include "cmocka_test.h"

/* What is refused has no results. */
static const char *const values[][2] = {
    {"aten::remainder(a=-7.5, b=2.0)", "f:0.5"},
    {"aten::remainder(a=7.5, b=-2.0)", "f:-0.5"},
    {"aten::remainder(a=7, b=-4)", "i:-1"},
    {"aten::remainder(a=8, b=-4)", "i:0"},
    {"aten::floordiv(a=7, b=-2)", "i:-4"},
    {"aten::floordiv(a=8, b=-2)", "i:-4"},
    {"aten::floordiv(a=-7.5, b=2.0)", "f:-4"},
    {"aten::floordiv(a=7, b=0)", ""},
    {"aten::round(a=2.5)", "f:2"},
    {"aten::round(a=3.5)", "f:4"},
    {"aten::round(a=-2.5)", "f:-2"},
    {"aten::round(a=2.6)", "f:3"},
    {"aten::floor(a=-2.5)", "i:-3"},
    {"aten::ceil(a=-2.5)", "i:-2"},
    {"aten::neg(a=-3)", "i:3"},
    {"aten::abs(a=-3)", "i:3"},
    {"aten::abs(a=3)", "i:3"},
    {"aten::__lshift__(a=1, b=4)", "i:16"},
    {"aten::__rshift__(a=-16, b=2)", "i:-4"},
    {"aten::__xor__(a=6, b=3)", "i:5"},
    {"aten::__and__(a=6, b=3)", "i:2"},
    {"aten::__and__(a=true, b=false)", "b:false"},
    {"aten::mul(a=3037000500, b=3037000500)", ""}, /* more than 2^63 */
    {"aten::mul(a=3037000499, b=3037000499)", "i:9223372030926249001"},
    {"aten::mul(a=[1,2], b=-1)", "[]"},
    {"aten::mul(a=[1], b=1000001)", ""}, /* longer than adept makes them */
    {"aten::ne(a=1, b=1.0)", "b:false"},
    {"aten::eq(a=[1,2], b=[1,2])", "b:true"},
    {"aten::eq(a=[1,2], b=[1,2,3])", "b:false"},
    {"aten::lt(a=1, b=1)", "b:false"},
    {"aten::le(a=1, b=1)", "b:true"},
    {"aten::gt(a=1.0, b=1)", "b:false"},
    {"aten::divmod(x=7, y=-4)", "i:-2, i:-1"},
    {"aten::Int(a=2.9)", "i:2"},
    {"aten::Bool(a=2)", "b:true"},
    {"aten::Bool(a=0.5)", "b:true"},
    {"aten::Bool(a=0)", "b:false"},
    {"prim::max([4,8,2])", "i:8"},
    {"prim::min(3, 2.5)", "f:2.5"},
    {"aten::__range_length(lo=1, hi=11, step=5)", "i:2"},
    {"aten::__range_length(lo=1, hi=12, step=5)", "i:3"},
    {"aten::__range_length(lo=3, hi=1, step=1)", "i:0"},
    {"aten::__range_length(lo=0, hi=1, step=2)", "i:1"},
    {"aten::__range_length(lo=1, hi=0, step=-2)", "i:1"},
    {"aten::__range_length(lo=0, hi=3, step=0)", ""},
    {"aten::add(a=\"ab\", b=\"c\")", "\"abc\""},
    {"aten::str(elem=3.0)", "\"3.0\""},
    {"aten::str(elem=true)", "\"True\""},
    {"aten::str(elem=none)", "\"None\""},
    {"aten::str(elem=[1,2.5,true])", "\"[1, 2.5, True]\""},
    {"aten::str(elem=[])", "\"[]\""},
    {"aten::upper(self=\"aB1\")", "\"AB1\""},
    {"aten::lower(self=\"aB1\")", "\"ab1\""},
    {"aten::find(self=\"abcab\", substr=\"ca\", start=0, end=-1)", "i:2"},
    {"aten::find(self=\"abcab\", substr=\"ab\", start=0, end=-1)", "i:0"},
    {"aten::find(self=\"abcab\", substr=\"ab\", start=1, end=-1)", "?"},
    {"aten::find(self=\"abcab\", substr=\"ab\", start=0, end=1)", "?"},
    {"aten::find(self=\"abcab\", substr=\"ca\", start=0, end=5)", "i:2"},
    {"aten::strip(self=\"xaxbx\", chars=\"x\")", "\"axb\""},
    {"aten::strip(self=\"  \")", "\"\""},
    {"aten::join(self=\"-\", values=[\"a\",\"b\",\"c\"])", "\"a-b-c\""},
    {"aten::startswith(self=\"ab\", substr=\"b\")", "b:false"},
    {"aten::slice(l=\"abcdef\", start=1, end=-1, step=2)", "\"bd\""},
    {"aten::slice(l=[5,6,7,8], start=-2, end=9, step=1)", "[i:7, i:8]"},
    {"aten::slice(l=[5,6,7,8], start=-9, end=-3, step=1)", "[i:5]"},
    {"aten::slice(l=[5,6,7,8], start=0, end=4, step=3)", "[i:5, i:8]"},
    {"aten::slice(l=[5,6,7,8], start=3, end=1, step=1)", "[]"},
    {"aten::__getitem__(list=[5,6,7], idx=-3)", "i:5"},
    {"aten::__getitem__(list=[5,6,7], idx=3)", ""},
    {"aten::__getitem__(list=[5,6,7], idx=-4)", ""},
    {"aten::__getitem__(list=\"abc\", idx=-1)", "\"c\""},
    {"aten::__contains__(l=[5,6], item=7)", "b:false"},
    {"aten::count(self=[5,6,5], el=5)", "i:2"},
    {"aten::pop(self=[5,6,7], idx=0)", "i:5"},
    {"aten::index(self=[4,5,6], el=7)", ""},
    {"aten::any(self=[false,false])", "b:false"},
    {"aten::all(self=[1,2])", "b:true"},
    {"aten::sum(self=[1,2.5])", "f:3.5"},
};

static void values_are_pythons(void **state)
{
    (void)state;
    assert_int_equal(call_text_differing(adept_handlers(), values, sizeof values / sizeof *values), 0);
}

/* l = [5, 6, 7]; l.insert(at, 4) */
static void lists_insert_as_python(void **state)
{
    (void)state;
    static const struct {
        int at;
        int64_t list[4];
    } cases[] = {{0, {4, 5, 6, 7}},  {1, {5, 4, 6, 7}},  {3, {5, 6, 7, 4}}, {9, {5, 6, 7, 4}},
                 {-1, {5, 6, 4, 7}}, {-3, {4, 5, 6, 7}}, {-9, {4, 5, 6, 7}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_text t;
        char text[100];
        snprintf(text, sizeof text, "aten::insert(self=[5,6,7], idx=%d, el=4)", cases[i].at);
        assert_null(call_text_run(&t, adept_handlers(), text));
        const adept_list *list = t.call.args[0].u.list;
        assert_int_equal(list->n, 4);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(list->items[k].u.i, cases[i].list[k]);
        call_text_free(&t);
    }
}

/* What a list is after a method that changes it. */
static void lists_change_as_python(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        size_t n;
        int64_t list[4];
    } cases[] = {{"aten::reverse(self=[5,6,7])", 3, {7, 6, 5}},
                 {"aten::reverse(self=[5,6,7,8])", 4, {8, 7, 6, 5}},
                 {"aten::Delete(self=[5,6,7], idx=1)", 2, {5, 7}},
                 {"aten::Delete(self=[5,6,7], idx=-1)", 2, {5, 6}},
                 {"aten::pop(self=[5,6,7], idx=-2)", 2, {5, 7}},
                 {"aten::clear(self=[5,6])", 0, {0}},
                 {"aten::extend(self=[5], other=[6,7])", 3, {5, 6, 7}},
                 {"aten::sort(self=[3,1,2], reverse=false)", 3, {1, 2, 3}},
                 {"aten::sort(self=[3,1,2], reverse=true)", 3, {3, 2, 1}},
                 {"aten::_set_item(l=[5,6,7], idx=-2, el=9)", 3, {5, 9, 7}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_text t;
        const char *error = call_text_run(&t, adept_handlers(), cases[i].call);
        const adept_list *list = t.call.args[0].u.list;
        if (error || list->n != cases[i].n) fail_msg("%s: %s, %zu elements", cases[i].call, error, list->n);
        for (size_t k = 0; k < list->n; k++)
            if (list->items[k].u.i != cases[i].list[k]) fail_msg("%s: element %zu", cases[i].call, k);
        call_text_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_pythons),
        cmocka_unit_test(lists_insert_as_python),
        cmocka_unit_test(lists_change_as_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
