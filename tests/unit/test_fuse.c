/* --execution compile: what TorchInductor fuses is neither read again nor written, and costs no launch. Counted by
 * hand. */
#include "operator_graph.h"

static adept_profile *compiled(const char *text, adept_mode mode, adept_execution execution)
{
    const adept_workload_config config = {.mode = mode, .execution = execution, .optimizer = "sgd"};
    return build_with(text, &config);
}

static void expect(const adept_profile *p, const char *op, adept_pass pass, double read, double written,
                   double launches)
{
    double sum[3] = {0};
    for (size_t i = 0; i < p->n_ops; i++) {
        if (strcmp(p->ops[i].op, op) != 0) continue;
        for (size_t j = 0; j < p->ops[i].n_kernels; j++) {
            const adept_kernel *k = &p->ops[i].kernels[j];
            if (k->pass != pass) continue;
            sum[0] += k->bytes_read, sum[1] += k->bytes_written, sum[2] += k->launches;
        }
    }
    if (sum[0] != read || sum[1] != written || sum[2] != launches)
        fail_msg("%s, %s: reads %g, writes %g in %g launches; not %g, %g in %g", op, adept_pass_name(pass), sum[0],
                 sum[1], sum[2], read, written, launches);
}

/* Tensors of 2 x 8 floats are 64 bytes. relu reads what a library wrote, tanh what a library will read. */
#define CHAIN                                                  \
    "input x f32:2x8\n"                                        \
    "param v f32:8x8 grad\n"                                   \
    "param w f32:8x8 grad\n"                                   \
    "h = aten::linear(input=x, weight=v, bias=none) @ a A\n"   \
    "r = aten::relu(self=h) @ b B\n"                           \
    "t = aten::tanh(self=r) @ c C\n"                           \
    "y = aten::linear(input=t, weight=w, bias=none) @ d D\n"

static void a_chain_is_one_kernel(void **state)
{
    (void)state;
    adept_profile *p = compiled(CHAIN "return y\n", ADEPT_MODE_INFER, ADEPT_COMPILE);
    expect(p, "aten::relu", ADEPT_FORWARD, 64, 0, 1);
    expect(p, "aten::tanh", ADEPT_FORWARD, 0, 64, 0);
    expect(p, "aten::linear", ADEPT_FORWARD, 2 * (64 + 256), 2 * 64, 2);
    assert_true(p->execution == ADEPT_COMPILE && p->memory_format == ADEPT_CHANNELS_LAST);
    adept_profile_free(p);
}

/* Other ways to run fuse nothing. */
static void eager_and_graphs_run_every_kernel(void **state)
{
    (void)state;
    for (int execution = ADEPT_EAGER; execution <= ADEPT_GRAPHS; execution++) {
        adept_profile *p = compiled(CHAIN "return y\n", ADEPT_MODE_INFER, (adept_execution)execution);
        expect(p, "aten::relu", ADEPT_FORWARD, 64, 64, 1);
        expect(p, "aten::tanh", ADEPT_FORWARD, 64, 64, 1);
        adept_profile_free(p);
    }
}

/* What somebody else reads, or the caller gets, is written all the same; who finds it in a register does not read it.
 */
static void others_need_it_written(void **state)
{
    (void)state;
    adept_profile *p = compiled(CHAIN "z = aten::linear(input=r, weight=w, bias=none) @ e E\nreturn y, z\n",
                                ADEPT_MODE_INFER, ADEPT_COMPILE);
    expect(p, "aten::relu", ADEPT_FORWARD, 64, 64, 1);
    expect(p, "aten::tanh", ADEPT_FORWARD, 0, 64, 0);
    adept_profile_free(p);
    p = compiled(CHAIN "return y, r\n", ADEPT_MODE_INFER, ADEPT_COMPILE);
    expect(p, "aten::relu", ADEPT_FORWARD, 64, 64, 1);
    adept_profile_free(p);
}

/* 2x4x8x8 floats are 2048 bytes, pooled 512. Windows read what was written; what they make stays in registers. */
static void windows_read_memory(void **state)
{
    (void)state;
    adept_profile *p =
        compiled("input x f32:2x4x8x8\n"
                 "r = aten::relu(self=x) @ a A\n"
                 "m = aten::avg_pool2d(self=r, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0]) @ b B\n"
                 "t = aten::tanh(self=m) @ c C\n"
                 "return t\n",
                 ADEPT_MODE_INFER, ADEPT_COMPILE);
    expect(p, "aten::relu", ADEPT_FORWARD, 2048, 2048, 1);
    expect(p, "aten::avg_pool2d", ADEPT_FORWARD, 2048, 0, 1);
    expect(p, "aten::tanh", ADEPT_FORWARD, 0, 512, 0);
    adept_profile_free(p);
}

/* In place: relu_ writes where linear wrote, and add_ reads it from registers. */
static void memory_is_followed(void **state)
{
    (void)state;
    adept_profile *p = compiled("input x f32:2x8\n"
                                "param v f32:8x8 grad\n"
                                "h = aten::linear(input=x, weight=v, bias=none) @ a A\n"
                                "r = aten::relu_(self=h) @ b B\n"
                                "f = aten::flatten(self=r, start_dim=0, end_dim=-1) @ b B\n"
                                "t = aten::tanh(self=f) @ c C\n"
                                "return t\n",
                                ADEPT_MODE_INFER, ADEPT_COMPILE);
    expect(p, "aten::relu", ADEPT_FORWARD, 64, 0, 1);
    expect(p, "aten::tanh", ADEPT_FORWARD, 0, 64, 0);
    adept_profile_free(p);
}

/* Both calls of relu wait for the linear layer between them, which reads what the first one makes. So that is written,
 * and read again by add, which finds only the second one's in registers. */
static void a_residual_is_read_again(void **state)
{
    (void)state;
    adept_profile *p = compiled("input x f32:2x8\n"
                                "param v f32:8x8\n"
                                "h = aten::linear(input=x, weight=v, bias=none) @ a A\n"
                                "r = aten::relu(self=h) @ b B\n"
                                "i = aten::linear(input=r, weight=v, bias=none) @ c C\n"
                                "t = aten::tanh(self=i) @ d D\n"
                                "s = aten::add(self=t, other=r, alpha=1) @ e E\n"
                                "return s\n",
                                ADEPT_MODE_INFER, ADEPT_COMPILE);
    expect(p, "aten::relu", ADEPT_FORWARD, 64, 64, 1);
    expect(p, "aten::tanh", ADEPT_FORWARD, 64, 0, 1);
    expect(p, "aten::add", ADEPT_FORWARD, 64, 64, 0);
    adept_profile_free(p);
}

/* The sum waits for two layers in a row, tanh beside them for one. But nothing waits for tanh but the sum: one kernel.
 */
static void a_branch_joins_late(void **state)
{
    (void)state;
    adept_profile *p = compiled("input x f32:2x8\n"
                                "param v f32:8x8\n"
                                "h = aten::linear(input=x, weight=v, bias=none) @ a A\n"
                                "t = aten::tanh(self=h) @ b B\n"
                                "i = aten::linear(input=x, weight=v, bias=none) @ c C\n"
                                "j = aten::linear(input=i, weight=v, bias=none) @ d D\n"
                                "r = aten::relu(self=j) @ e E\n"
                                "s = aten::add(self=t, other=r, alpha=1) @ f F\n"
                                "y = aten::linear(input=s, weight=v, bias=none) @ g G\n"
                                "return y\n",
                                ADEPT_MODE_INFER, ADEPT_COMPILE);
    expect(p, "aten::tanh", ADEPT_FORWARD, 64, 0, 1);
    expect(p, "aten::relu", ADEPT_FORWARD, 64, 0, 1);
    expect(p, "aten::add", ADEPT_FORWARD, 0, 64, 0);
    adept_profile_free(p);
}

/* Eight tensors are read where their concatenation is, nine are put together in memory first. */
static void nine_tensors_are_put_together(void **state)
{
    (void)state;
    for (int n = 8; n <= 9; n++) {
        char text[512];
        snprintf(text, sizeof text,
                 "input x f32:2x8\n"
                 "param v f32:8x8\n"
                 "h = aten::linear(input=x, weight=v, bias=none) @ a A\n"
                 "c = aten::cat(tensors=[h, h, h, h, h, h, h, h%s], dim=1) @ b B\n"
                 "t = aten::tanh(self=c) @ c C\n"
                 "return t\n",
                 n == 9 ? ", h" : "");
        adept_profile *p = compiled(text, ADEPT_MODE_INFER, ADEPT_COMPILE);
        expect(p, "aten::cat", ADEPT_FORWARD, n * 64, n == 9 ? 9 * 64 : 0, 1);
        expect(p, "aten::tanh", ADEPT_FORWARD, n == 9 ? 9 * 64 : 0, n * 64, n == 9 ? 1 : 0);
        adept_profile_free(p);
    }
}

/* Training: the gradient of t comes from a library, that of r does not. tanh's backward reads the first one and
 * computes r again; relu's reads h, finds the gradient of r in registers, and writes that of h for the library. */
static void gradients_fuse_too(void **state)
{
    (void)state;
    adept_profile *p = compiled(CHAIN "return y\n", ADEPT_MODE_TRAIN, ADEPT_COMPILE);
    expect(p, "aten::tanh", ADEPT_BACKWARD, 64, 0, 1);
    expect(p, "aten::relu", ADEPT_BACKWARD, 64, 64, 0);
    adept_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_one_kernel),
        cmocka_unit_test(eager_and_graphs_run_every_kernel),
        cmocka_unit_test(others_need_it_written),
        cmocka_unit_test(windows_read_memory),
        cmocka_unit_test(memory_is_followed),
        cmocka_unit_test(a_residual_is_read_again),
        cmocka_unit_test(a_branch_joins_late),
        cmocka_unit_test(nine_tensors_are_put_together),
        cmocka_unit_test(gradients_fuse_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
