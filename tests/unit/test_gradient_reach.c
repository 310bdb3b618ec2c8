/* Where gradients come from and where several meet. */
#include "graph_profile.h"
#include <stdio.h>

/* x + f(x): two gradients meet at h, the weight's too as it is used twice. */
static void gradients_that_meet_are_added(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "param w f32:4x4 grad\n"
                                  "h = aten::linear(input=x, weight=w, bias=none) @ a L\n"
                                  "f = aten::linear(input=h, weight=w, bias=none) @ b L\n"
                                  "y = aten::add(self=h, other=f, alpha=1) @ c A\n"
                                  "return y\n",
                                  &config);
    const adept_profile_op *h = find_op(p, "a", "autograd::accumulate"), *w = find_op(p, "", "autograd::accumulate");
    assert_true(h->kernels[0].bytes_read == 2 * 8 * 4 && h->kernels[0].bytes_written == 8 * 4 &&
                h->kernels[0].flops == 8);
    assert_true(w->kernels[0].bytes_read == 2 * 16 * 4 && w->kernels[0].launches == 1);
    adept_profile_free(p);
}

/* Of a list's tensor, however often it is taken out: PyTorch 1.13 adds twice of such a half of three uses, whether
 * chunk, split or unbind makes it. What hands a tensor on adds none. */
static void tensors_of_lists_are_added_once(void **state)
{
    (void)state;
    static const char *const lists[] = {"aten::chunk(self=w, chunks=2, dim=1)",
                                        "aten::split(self=w, split_size=3, dim=1)", "aten::unbind(self=v, dim=1)"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        adept_workload_config config = {0};
        char text[600];
        snprintf(text, sizeof text,
                 "param w f32:4x6 grad\nparam v f32:4x2x3 grad\n"
                 "l = %s @ l L\n"
                 "a = aten::__getitem__(self=l, idx=0)\n"
                 "b = aten::__getitem__(self=l, idx=1)\n"
                 "r = aten::relu(self=a) @ r R\n"
                 "m = aten::mul(self=r, other=a) @ m M\n"
                 "t = aten::tanh(self=b) @ t T\n"
                 "s = aten::add(self=m, other=t, alpha=1) @ s S\n"
                 "c = aten::__getitem__(self=l, idx=0)\n"
                 "y = aten::add(self=s, other=c, alpha=1) @ y Y\n"
                 "return y\n",
                 lists[i]);
        adept_profile *p = build_with(text, &config);
        double sums = 0.0;
        for (size_t k = 0; k < p->n_ops; k++)
            if (!strcmp(p->ops[k].op, "autograd::accumulate"))
                sums += (double)p->ops[k].count * p->ops[k].kernels[0].launches;
        if (sums != 2.0) fail_msg("%s: %g sums of gradients", lists[i], sums);
        adept_profile_free(p);
    }
}

/* Where a tensor lends its type or shape, no gradient comes from. */
static void lent_shapes_have_no_gradient(void **state)
{
    (void)state;
    static const struct {
        const char *self, *call;
        int sums;
    } cases[] = {
        {"f32:24", "aten::view_as(self=u, other=a)", 0},       {"f32:24", "aten::reshape_as(self=u, other=a)", 0},
        {"f32:6", "aten::expand_as(self=u, other=a)", 0},      {"f16:4x6", "aten::type_as(self=u, other=a)", 0},
        {"f32:4x6", "aten::add(self=u, other=a, alpha=1)", 1}, /* here one does: a has two */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const adept_workload_config config = {0};
        char text[400];
        int sums = 0;
        snprintf(text, sizeof text,
                 "param w f32:4x6 grad\nparam u %s grad\na = aten::relu(self=w) @ a A\nb = %s @ b B\n"
                 "c = aten::exp(self=a) @ c C\nreturn b, c\n",
                 cases[i].self, cases[i].call);
        adept_profile *p = build_with(text, &config);
        for (size_t k = 0; k < p->n_ops; k++)
            sums += !strcmp(p->ops[k].op, "autograd::accumulate");
        if (sums != cases[i].sums) fail_msg("%s: %d sums of gradients", cases[i].call, sums);
        adept_profile_free(p);
    }
}

/* Scripts read what they wrote into by the name that it had before, and each part of it comes from somewhere else. */
static void each_writer_into_a_memory_is_reached(void **state)
{
    (void)state;
    adept_workload_config config = {0};
    adept_profile *p = build_with("input x f32:2x4\n"
                                  "param v f32:8x4 grad\n"
                                  "param w f32:8x4 grad\n"
                                  "param u f32:8x4 grad\n"
                                  "a = aten::linear(input=x, weight=v, bias=none) @ a L\n"
                                  "b = aten::linear(input=x, weight=w, bias=none) @ b L\n"
                                  "c = aten::linear(input=x, weight=u, bias=none) @ c L\n"
                                  "z = aten::zeros(size=[2, 24], dtype=6)\n"
                                  "s = aten::slice(self=z, dim=1, start=0, end=8, step=1)\n"
                                  "t = aten::slice(self=z, dim=1, start=8, end=16, step=1)\n"
                                  "r = aten::slice(self=z, dim=1, start=16, end=24, step=1)\n"
                                  "p = aten::copy_(self=s, src=a)\n"
                                  "q = aten::copy_(self=t, src=b)\n"
                                  "y = aten::exp(self=z) @ y E\n"
                                  "n = aten::copy_(self=r, src=c)\n"
                                  "return y\n",
                                  &config);
    assert_int_equal(find_op(p, "a", "aten::linear")->n_kernels, 2);
    assert_int_equal(find_op(p, "b", "aten::linear")->n_kernels, 2);
    assert_int_equal(find_op(p, "c", "aten::linear")->n_kernels, 1); /* written after z was read */
    adept_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_that_meet_are_added),
        cmocka_unit_test(tensors_of_lists_are_added_once),
        cmocka_unit_test(lent_shapes_have_no_gradient),
        cmocka_unit_test(each_writer_into_a_memory_is_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
