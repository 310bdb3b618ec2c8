/* Costs of operators by hand, and edges of handlers: what PyTorch 1.13 and Python say, tried there one by one. */
#include "adept_handlers.h"
#include "worked_cases.h"
#include "cmocka_test.h"

/* Costs by hand: FLOPs of the textbooks that handlers/op_linalg.c names, and one kernel for each operation in PyTorch's
 * derivatives.yaml; bytes of what is read, written and kept. A
 * product of n x n matrices is 2 n^3, a triangular solve half of it. Backward reads the gradients and what was kept. */
static const worked_case costs[] = {
    {.call = "aten::cholesky_inverse(self=f32:3x3*, upper=false)", /* 2/3 * 27; 3 products of 54 */
     .forward = {.alu = 18, .read = 36, .written = 36},
     .backward = {.alu = 162, .read = 36 + 72, .written = 36, .saved = 72}},
    {.call = "aten::cholesky_solve(self=f32:3x2*, input2=f32:3x3*, upper=false)", /* 2 * 9 * 2; 4 of these */
     .forward = {.alu = 36, .read = 24 + 36, .written = 24},
     .backward = {.alu = 144, .read = 24 + 84, .written = 60, .saved = 84}},
    {.call = "aten::inverse(self=f32:5x2x2*)", /* 5 * 2 * 8; 2 products of 16 each */
     .forward = {.alu = 80, .read = 80, .written = 80},
     .backward = {.alu = 160, .read = 80 + 80, .written = 80, .saved = 80}},
    {.call = "aten::linalg_inv(A=c64:2x2*)", /* complex: four times */
     .forward = {.alu = 64, .read = 32, .written = 32},
     .backward = {.alu = 128, .read = 32 + 32, .written = 32, .saved = 32}},
    {.call = "aten::linalg_det(A=f32:3x3*)", /* 27 - 27 / 3; a product of 54 */
     .forward = {.alu = 18, .read = 36, .written = 4},
     .backward = {.alu = 54, .read = 4 + 40, .written = 36, .saved = 40}},
    {.call = "aten::linalg_slogdet(A=f32:3x3*)",
     .forward = {.alu = 18, .read = 36, .written = 8},
     .backward = {.alu = 54, .read = 8 + 44, .written = 36, .saved = 44}},
    {.call = "aten::linalg_solve(A=f32:5x1x3x3, B=f32:4x3x2, left=true)", /* 20 of 18 + 2 * 9 * 2 */
     .forward = {.alu = 1080, .read = 180 + 96, .written = 480}},
    {.call = "aten::linalg_solve(A=f32:5x3x3, B=f32:5x3, left=true)", /* vectors: 5 of 18 + 2 * 9 */
     .forward = {.alu = 180, .read = 180 + 60, .written = 60}},
    {.call = "aten::linalg_solve_triangular(self=f32:3x3*, B=f32:3x2*, upper=true, left=true, unitriangular=false)",
     .forward = {.alu = 18, .read = 36 + 24, .written = 24}, /* 9 * 2; 1.5 products of 2 * 9 * 2 */
     .backward = {.alu = 54, .read = 24 + 84, .written = 60, .saved = 84}},
    {.call = "aten::linalg_solve_triangular(self=f32:3x3, B=f32:5x3, upper=true, left=false, unitriangular=false)",
     .forward = {.alu = 45, .read = 36 + 60, .written = 60}},
    {.call = "aten::triangular_solve(self=f32:3x2*, A=f32:3x3*, upper=true, transpose=false, unitriangular=false)",
     .forward = {.alu = 18, .read = 24 + 36, .written = 24 + 36},
     .backward = {.alu = 54, .read = 60 + 120, .written = 60, .saved = 120}},
    {.call = "aten::linalg_lu(A=f32:4x2*, pivot=true)", /* 4 * 4 - 8 / 3; 4 products of 2 * 4 * 2 * 2 */
     .forward = {.alu = 40.0 / 3, .read = 32, .written = 64 + 32 + 16},
     .backward = {.alu = 128, .read = 112 + 112, .written = 32, .saved = 112}},
    {.call = "aten::linalg_lu_factor(A=f32:2x4*, pivot=true)",
     .forward = {.alu = 40.0 / 3, .read = 32, .written = 32 + 8},
     .backward = {.alu = 128, .read = 32 + 40, .written = 32, .saved = 40}},
    {.call = "aten::lu_unpack(LU_data=f32:4x2, LU_pivots=i32:2, unpack_data=true, unpack_pivots=true)", /* copies */
     .forward = {.read = 32 + 8, .written = 64 + 32 + 16}},
    {.call = "aten::linalg_lu_solve(LU=f32:3x3*, pivots=i32:3, B=f32:3x2*, left=true, adjoint=false)",
     .forward = {.alu = 36, .read = 36 + 12 + 24, .written = 24}, /* 2 * 9 * 2; 3 of these */
     .backward = {.alu = 108, .read = 24 + 96, .written = 60, .saved = 96}},
    {.call = "aten::linalg_ldl_factor(self=f32:3x3, hermitian=false)", /* 27 / 3 */
     .forward = {.alu = 9, .read = 36, .written = 36 + 12}},
    {.call = "aten::linalg_ldl_solve(LD=f32:3x3, pivots=i32:3, B=f32:3x2, hermitian=false)",
     .forward = {.alu = 36, .read = 36 + 12 + 24, .written = 24}},
    /* R 2 * 4 * 4 - 2/3 * 8, all of Q 4 * 4 * 4 * 2 - 2 * 8 * 4 + 4/3 * 8; 3.5 products of 32 */
    {.call = "aten::linalg_qr(A=f32:4x2*, mode=\"complete\")",
     .forward = {.alu = 80.0 / 3 + 224.0 / 3, .read = 32, .written = 64 + 32},
     .backward = {.alu = 112, .read = 96 + 96, .written = 32, .saved = 96}},
    {.call = "aten::geqrf(self=f32:2x4)", .forward = {.alu = 80.0 / 3, .read = 32, .written = 32 + 8}},
    /* one reflector: 4 * 4 * 2 - 2 * 6 + 4/3; two: 4 * 4 * 2 * 2 - 2 * 6 * 4 + 4/3 * 8, and 4 products of 32 */
    {.call = "aten::orgqr(self=f32:4x2, input2=f32:1)", .forward = {.alu = 64.0 / 3, .read = 32 + 4, .written = 32}},
    {.call = "aten::linalg_householder_product(input=f32:4x2*, tau=f32:2*)",
     .forward = {.alu = 80.0 / 3, .read = 32 + 8, .written = 32},
     .backward = {.alu = 128, .read = 32 + 72, .written = 40, .saved = 72}},
    {.call = "aten::ormqr(self=f32:4x2, input2=f32:2, input3=f32:4x3, left=true, transpose=true)", /* 4mnk - 2nk^2 */
     .forward = {.alu = 72, .read = 32 + 8 + 48, .written = 48}},
    /* R as above, then (4 * 4 * 2 - 2 * 4) + 4 for each of three; 4 products of 32 */
    {.call = "aten::linalg_lstsq(self=f32:4x2*, b=f32:4x3*, rcond=none, driver=\"gels\")",
     .forward = {.alu = 80.0 / 3 + 84, .read = 32 + 48, .written = 24 + 12},
     .backward = {.alu = 128, .read = 36 + 116, .written = 80, .saved = 116}},
    {.call =
         "aten::linalg_svd(A=f32:4x2*, full_matrices=true, driver=none)", /* 4 * 16 * 2 + 22 * 8; 4 products of 32 */
     .forward = {.alu = 304, .read = 32, .written = 64 + 8 + 16},
     .backward = {.alu = 128, .read = 88 + 88, .written = 32, .saved = 88}},
    {.call = "aten::svd(self=f32:2x4, some=false, compute_uv=true)",
     .forward = {.alu = 304, .read = 32, .written = 16 + 8 + 64}},
    {.call = "aten::svd(self=f32:4x2, some=true, compute_uv=false)", /* values: 2 * 4 * 4 + 2 * 8; the rest is zeros */
     .forward = {.alu = 48, .read = 32, .written = 64 + 8 + 16}},
    {.call = "aten::linalg_svdvals(A=f32:4x2*, driver=none)", /* one product of 32 */
     .forward = {.alu = 48, .read = 32, .written = 8},
     .backward = {.alu = 32, .read = 8 + 40, .written = 32, .saved = 40}},
    {.call = "aten::linalg_eigh(self=f32:3x3*, UPLO=\"L\")", /* 9 * 27; 3 products of 54 */
     .forward = {.alu = 243, .read = 36, .written = 12 + 36},
     .backward = {.alu = 162, .read = 48 + 48, .written = 36, .saved = 48}},
    {.call = "aten::linalg_eigvalsh(self=f32:3x3*, UPLO=\"L\")", /* 4/3 * 27; a product */
     .forward = {.alu = 36, .read = 36, .written = 12},
     .backward = {.alu = 54, .read = 12 + 48, .written = 36, .saved = 48}},
    {.call = "aten::linalg_eig(self=f32:3x3*)", /* 25 * 27; 5 products */
     .forward = {.alu = 675, .read = 36, .written = 24 + 72},
     .backward = {.alu = 270, .read = 96 + 96, .written = 36, .saved = 96}},
    {.call = "aten::linalg_eigvals(self=f32:3x3*)", /* 10 * 27; 3 products */
     .forward = {.alu = 270, .read = 36, .written = 24},
     .backward = {.alu = 162, .read = 24 + 60, .written = 36, .saved = 60}},
    /* SVD 6 * 4 * 4 + 20 * 8, V by 1 / S 2 * 2, times U 2 * 4 * 2 * 2; 6 products of 32 */
    {.call = "aten::linalg_pinv(self=f32:4x2*, rcond=1e-15, hermitian=false)",
     .forward = {.alu = 256 + 4 + 32, .read = 32, .written = 32},
     .backward = {.alu = 192, .read = 32 + 64, .written = 32, .saved = 64}},
    {.call = "aten::linalg_pinv(self=f32:2x2, rcond=1e-15, hermitian=true)", /* 9 * 8, 2 * 2, 2 * 8 */
     .forward = {.alu = 72 + 4 + 16, .read = 16, .written = 16}},
    {.call = "aten::matrix_exp(self=f32:2x2*)", /* 5 products of 16; of a matrix of twice the size */
     .forward = {.alu = 80, .read = 16, .written = 16},
     .backward = {.alu = 640, .read = 16 + 16, .written = 16, .saved = 16}},
    {.call = "aten::linalg_matrix_power(self=f32:2x2*, n=-3)", /* 3 = binary 11: a square, a product; 2 * 8 to invert */
     .forward = {.alu = 2 * 16 + 16, .read = 16, .written = 16},
     .backward = {.alu = 64, .read = 16 + 32, .written = 16, .saved = 32}},
    {.call = "aten::linalg_cond(self=f32:3x3, p=none)", /* by singular values: 2 * 27 + 2 * 27 */
     .forward = {.alu = 108, .read = 36, .written = 4}},
    {.call = "aten::linalg_cond(self=f32:3x3, p=-2)", .forward = {.alu = 108, .read = 36, .written = 4}},
    {.call = "aten::linalg_cond(self=f32:3x3, p=\"nuc\")", .forward = {.alu = 108, .read = 36, .written = 4}},
    {.call = "aten::linalg_cond(self=f32:3x3, p=1)", .forward = {.alu = 54, .read = 36, .written = 4}}, /* 2 * 27 */
    {.call = "aten::linalg_cond(self=f32:3x3, p=\"fro\")", .forward = {.alu = 54, .read = 36, .written = 4}},
    {.call = "aten::linalg_matrix_rank(self=f32:3x3, tol=0.1, hermitian=true)", /* 4/3 * 27 */
     .forward = {.alu = 36, .read = 36, .written = 8}},
    {.call = "aten::linalg_matrix_rank(self=f32:4x2, tol=0.1, hermitian=false)",
     .forward = {.alu = 48, .read = 32, .written = 8}},
    /* where() of the condition each way; the number's gradient is summed */
    {.call = "aten::where(condition=bool:8, self=f32:8*, other=f32:*)",
     .forward = {.alu = 8, .read = 8 + 32 + 4, .written = 32},
     .backward = {.alu = 24, .read = 40 + 40 + 32, .written = 32 + 32 + 4, .launches = 3, .saved = 8}},
    {.call = "aten::masked_fill(self=f32:8, mask=bool:8, value=f32:*)", /* where(mask, grad, 0), summed */
     .forward = {.alu = 8, .read = 32 + 32 + 8, .written = 64, .launches = 2},
     .backward = {.alu = 16, .read = 40 + 32, .written = 32 + 4, .launches = 2, .saved = 8}},
    /* grad * (1 - weight), grad * weight, grad * (end - self): 2, 1 and 2 kernels, which read 3, 2 and 4 */
    {.call = "aten::lerp(self=f32:8*, end=f32:8*, weight=f32:8*)",
     .forward = {.alu = 24, .read = 96, .written = 32},
     .backward = {.alu = 40, .read = 9 * 32, .written = 5 * 32, .launches = 5, .saved = 96}},
    /* grad * (value / t2): 2, which read 3; -grad * (value * t1 / (t2 * t2)): 5, which read 1, 1, 1, 2 and 2 */
    {.call = "aten::addcdiv(self=f32:8*, tensor1=f32:8*, tensor2=f32:8*, value=1)",
     .forward = {.alu = 24, .read = 96, .written = 32},
     .backward = {.alu = 56, .read = 10 * 32, .written = 7 * 32, .launches = 7, .saved = 64}},
    {.call = "aten::addcmul(self=f32:2*, tensor1=f32:4x2, tensor2=f32:4x2, value=1)", /* summed */
     .forward = {.alu = 24, .read = 8 + 64, .written = 32},
     .backward = {.alu = 8, .read = 32, .written = 8}},
    /* grad / other; -grad * ((self / other) / other) */
    {.call = "aten::div(self=f32:8*, other=f32:8*)",
     .forward = {.alu = 8, .read = 64, .written = 32},
     .backward = {.alu = 40, .read = (2 + 7) * 32, .written = 5 * 32, .launches = 5, .saved = 64}},
    {.call = "aten::div(self=f32:8*, other=f32:8*, rounding_mode=\"trunc\")", /* zeros */
     .forward = {.alu = 16, .read = 64, .written = 32},
     .backward = {.written = 64, .launches = 2, .saved = 64}},
    {.call = "aten::div(self=f32:8*, other=2.0, rounding_mode=\"floor\")",
     .forward = {.alu = 16, .read = 32, .written = 32},
     .backward = {.written = 32}},
    {.call = "aten::floor_divide(self=f32:8*, other=f32:8*)", /* PyTorch has no derivative */
     .forward = {.alu = 16, .read = 64, .written = 32}},
    {.call = "aten::add(self=f32:8, other=f32:8*, alpha=2)", /* grad * alpha */
     .forward = {.alu = 16, .read = 64, .written = 32},
     .backward = {.alu = 8, .read = 32, .written = 32}},
    {.call = "aten::sub(self=f32:8*, other=f32:8*, alpha=2)", /* -grad * alpha */
     .forward = {.alu = 16, .read = 64, .written = 32},
     .backward = {.alu = 16, .read = 64, .written = 64, .launches = 2}},
    {.call = "aten::rsub(self=f32:8*, other=f32:8*, alpha=2)",
     .forward = {.alu = 16, .read = 64, .written = 32},
     .backward = {.alu = 16, .read = 64, .written = 64, .launches = 2}},
    {.call = "aten::remainder(self=f32:8*, other=f32:8*)", /* grad; -grad * floor(self / other) */
     .forward = {.alu = 32, .read = 64, .written = 32},
     .backward = {.alu = 32, .read = 5 * 32, .written = 3 * 32, .launches = 3, .saved = 64}},
    /* where(other == 0, 0, grad * (other * self ** (other - 1))): 8 FLOPs, 6 kernels that read 9 and write 5 and a
     * mask; grad * where(self == 0 and other >= 0, 0, result * log(self)): 7, 7 that read 8 and write 4 and masks */
    {.call = "aten::pow(self=f32:8*, exponent=f32:8*)",
     .forward = {.alu = 24, .read = 64, .written = 32},
     .backward = {.alu = 120, .read = 17 * 32, .written = 9 * 32, .launches = 13, .saved = 96}},
    {.call = "aten::pow(self=2.0, exponent=f32:8*)", /* grad * (result * log(self)) */
     .forward = {.alu = 24, .read = 32, .written = 32},
     .backward = {.alu = 16, .read = 3 * 32, .written = 2 * 32, .launches = 2, .saved = 32}},
    {.call = "aten::pow(self=f32:8*, exponent=0)", /* ones; zeros */
     .forward = {.read = 32, .written = 32},
     .backward = {.written = 32, .saved = 32}},
    /* where(self == other, grad / 2, grad).masked_fill(self < other, 0): 5 kernels that read 8 and write 3 and masks */
    {.call = "aten::maximum(self=f32:8*, other=f32:8*)",
     .forward = {.alu = 8, .read = 64, .written = 32},
     .backward = {.alu = 80, .read = 16 * 32, .written = 6 * 32, .launches = 10, .saved = 64}},
    {.call = "aten::add(self=c64:4*, other=c64:4)", .forward = {.alu = 8, .read = 64, .written = 32}}, /* of 2 parts */
    {.call = "aten::div(self=c64:4*, other=c64:4)", /* four products, two sums */
     .forward = {.alu = 24, .read = 64, .written = 32},
     .backward = {.alu = 24, .read = 64, .written = 32, .saved = 32}},
    {.call = "aten::clamp_max(self=f32:8*, max=1)", /* where(self <= max, grad, 0) */
     .forward = {.alu = 8, .read = 32, .written = 32},
     .backward = {.alu = 16, .read = 64, .written = 32, .launches = 2, .saved = 32}},
    {.call = "aten::clamp_min(self=f32:8*, min=f32:8*)", /* the same, and where(self < min, grad, 0) */
     .forward = {.alu = 8, .read = 64, .written = 32},
     .backward = {.alu = 32, .read = 2 * 96, .written = 64, .launches = 4, .saved = 64}},
    {.call = "aten::prelu(self=f32:2x3x2*, weight=f32:1)",
     .forward = {.alu = 24, .read = 48 + 4, .written = 48},
     .backward = {.alu = 48, .read = 96 + 4, .written = 48, .saved = 48 + 4}},
    {.call = "aten::tanh_(self=f32:8*)", /* the result is enough */
     .forward = {.alu = 40, .read = 32, .written = 32},
     .backward = {.alu = 80, .read = 64, .written = 32, .saved = 32}},
    {.call = "aten::elu_(self=f32:8*, alpha=1, scale=1, input_scale=1)",
     .forward = {.alu = 32, .read = 32, .written = 32},
     .backward = {.alu = 64, .read = 64, .written = 32, .saved = 32}},
    {.call = "aten::mse_loss(self=f32:4x10*, target=f32:4x10*, reduction=1)", /* the target's costs as much */
     .forward = {.alu = 120, .read = 320 + 160, .written = 160 + 4, .launches = 2},
     .backward = {.alu = 320, .read = 2 * 324, .written = 320, .launches = 2, .saved = 320}},
    {.call = "aten::l1_loss(self=f32:8, target=f32:8*, reduction=0)", /* keeps the difference: grad * sign of it */
     .forward = {.alu = 16, .read = 96, .written = 64, .launches = 2},
     .backward = {.alu = 32, .read = 96, .written = 64, .launches = 2, .saved = 32}},
    /* one element for five products: its gradient is the sum of five */
    {.call = "aten::matmul(self=f32:1x1x1*, other=f32:5x1x3)",
     .forward = {.gemm = 30, .read = 4 + 60, .written = 60},
     .backward = {.gemm = 30, .alu = 5, .read = 120 + 20, .written = 20 + 4, .launches = 2, .saved = 60}},
    {.call = "sparse::coalesce(self=f32:10x8#0)"}, /* nothing to sort */
};

static int compare(const char *call, const char *what, double found, double expected)
{
    if (fabs(found - expected) <= 1e-12 * fabs(expected)) return 0;
    print_error("%s: %s %.17g, not %.17g\n", call, what, found, expected);
    return 1;
}

static int compare_counts(const char *call, call_counts found, call_counts expected)
{
    bool runs = expected.gemm + expected.conv + expected.alu + expected.read + expected.written > 0;
    if (runs && expected.launches == 0) expected.launches = 1;
    return compare(call, "FLOPs of products", found.gemm, expected.gemm) +
           compare(call, "FLOPs of convolutions", found.conv, expected.conv) +
           compare(call, "other FLOPs", found.alu, expected.alu) + compare(call, "read", found.read, expected.read) +
           compare(call, "written", found.written, expected.written) +
           compare(call, "launches", found.launches, expected.launches);
}

static void costs_are_those_by_hand(void **state)
{
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        call_text t;
        const char *error = call_text_run(&t, adept_handlers(), costs[i].call);
        if (error) {
            print_error("%s: %s\n", costs[i].call, error);
            bad++;
        } else {
            bad += compare_counts(costs[i].call, call_text_counts(&t, ADEPT_FORWARD), costs[i].forward);
            bad += compare_counts(costs[i].call, call_text_counts(&t, ADEPT_BACKWARD), costs[i].backward);
            bad += compare(costs[i].call, "kept", t.cost.saved_bytes, costs[i].backward.saved);
        }
        call_text_free(&t);
    }
    assert_int_equal(bad, 0);
}

static void strides_are_pytorchs(void **state)
{
    (void)state;
    int bad = 0;
    static const struct {
        const char *call;
        int64_t strides[3];
    } cases[] = {{"aten::clamp(self=f32:3x4^, min=0, max=none)", {1, 3}},
                 {"aten::clamp_(self=f32:3x4^, min=0, max=none)", {1, 3}},
                 {"aten::clamp(self=f32:3x4^, min=f32:3x4, max=none)", {1, 3}},
                 {"aten::flip(self=f32:3x4^, dims=[0])", {1, 3}},
                 {"aten::roll(self=f32:3x4^, shifts=[1], dims=[0])", {4, 1}},
                 {"aten::tril(self=f32:3x4^, diagonal=0)", {4, 1}},
                 {"aten::triu_(self=f32:3x4^, diagonal=0)", {1, 3}},
                 {"aten::add(self=f32:3x4^, other=f32:3x4)", {1, 3}},
                 {"aten::add(self=f32:4, other=f32:3x4^)", {1, 3}},
                 {"aten::add_(self=f32:3x4^, other=f32:3x4)", {1, 3}},
                 {"aten::where(condition=bool:3x4, self=f32:3x4^, other=f32:3x4^)", {4, 1}},
                 {"aten::lerp(self=f32:3x4^, end=f32:3x4^, weight=0.5)", {1, 3}},
                 {"aten::addcmul(self=f32:3x4^, tensor1=f32:3x4^, tensor2=f32:3x4, value=1)", {1, 3}},
                 {"aten::masked_fill(self=f32:3x4^, mask=bool:3x4, value=0)", {4, 1}},
                 {"aten::masked_fill_(self=f32:3x4^, mask=bool:3x4, value=0)", {1, 3}},
                 {"aten::glu(self=f32:3x4^, dim=1)", {1, 3}},
                 {"aten::rot90(self=f32:3x4^, k=2, dims=[0,1])", {1, 3}},
                 {"aten::rot90(self=f32:3x4^, k=4, dims=[0,1])", {4, 1}},
                 {"aten::rot90(self=f32:3x4^, k=1, dims=[0,1])", {3, 1}},
                 {"aten::softmax(self=f32:3x4^, dim=0, dtype=none)", {4, 1}},
                 {"aten::cumsum(self=f32:3x4^, dim=0, dtype=none)", {4, 1}},
                 {"aten::clone(self=f32:3x4^, memory_format=none)", {1, 3}},
                 {"aten::clone(self=f32:3x4^, memory_format=0)", {4, 1}},
                 {"aten::gelu(self=f32:3x4^, approximate=\"none\")", {1, 3}},
                 {"aten::eq(self=f32:3x4^, other=0)", {1, 3}},
                 {"aten::exp(self=f32:3x4^)", {1, 3}},
                 {"aten::neg_(self=f32:3x4^)", {1, 3}},
                 {"aten::pow(self=f32:3x4^, exponent=2)", {1, 3}},
                 {"aten::zeros_like(self=f32:3x4^)", {1, 3}},
                 {"aten::sort(self=f32:3x4^, dim=0, descending=false)", {1, 3}},
                 {"aten::logcumsumexp(self=f32:3x4^, dim=0)", {4, 1}},
                 {"aten::sum(self=f32:2x3x4^, dim=[0], keepdim=false, dtype=none)", {4, 1}},
                 {"aten::max(self=f32:2x3x4^, dim=0, keepdim=false)", {4, 1}},
                 {"aten::index_select(self=f32:3x4^, dim=0, index=i64:2)", {4, 1}},
                 {"aten::repeat(self=f32:3x4^, repeats=[1,1])", {4, 1}},
                 {"aten::cat(tensors=[f32:3x4^, f32:3x4^], dim=0)", {4, 1}},
                 {"aten::stack(tensors=[f32:3x4^, f32:3x4^], dim=0)", {12, 4, 1}},
                 {"aten::mm(self=f32:3x4^, mat2=f32:4x3^)", {3, 1}},
                 {"aten::view(self=f16:2x3x4, dtype=6)", {6, 2, 1}},
                 {"aten::view(self=f64:2x3x4, dtype=6)", {24, 8, 1}},
                 {"aten::slice(self=f32:3x4^, dim=1, start=1, end=4, step=2)", {1, 6}},
                 {"aten::select(self=f32:2x3x4^, dim=0, index=1)", {1, 3}},
                 {"aten::unsqueeze(self=f32:3x4^, dim=1)", {1, 12, 3}},
                 {"aten::diagonal(self=f32:3x4^, offset=1)", {4}},
                 {"aten::unfold(self=f32:3x4^, dimension=0, size=2, step=1)", {1, 3, 1}},
                 {"aten::expand(self=f32:3x4^, size=[2,3,4])", {0, 1, 3}},
                 {"aten::movedim(self=f32:2x3x4^, source=0, destination=-1)", {1, 3, 12}},
                 {"aten::reshape(self=f32:3x4^, shape=[3,2,2])", {1, 6, 3}},
                 {"aten::flatten(self=f32:2x3x4^, start_dim=0, end_dim=1)", {4, 1}},
                 {"aten::cumprod(self=f32:3x4^, dim=0, dtype=none)", {4, 1}},
                 {"aten::constant_pad_nd(self=f32:3x4^, pad=[1,1], value=0)", {6, 1}},
                 {"aten::layer_norm(input=f32:3x4^, normalized_shape=[4], weight=none, bias=none, eps=1e-5)", {4, 1}},
                 {"aten::mse_loss(self=f32:3x4^, target=f32:3x4^, reduction=0)", {1, 3}},
                 {"aten::topk(self=f32:3x4^, k=2, dim=0, largest=true, sorted=true)", {4, 1}},
                 {"aten::gather(self=f32:3x4^, dim=0, index=i64:2x4)", {4, 1}},
                 {"aten::scatter(self=f32:3x4^, dim=0, index=i64:2x4, src=f32:2x4)", {4, 1}},
                 {"aten::complex(real=f32:3x4^, imag=f32:3x4^)", {1, 3}},
                 {"aten::abs(self=c64:3x4^)", {1, 3}},
                 {"aten::to(self=f32:3x4^, dtype=7, non_blocking=false, copy=false, memory_format=none)", {1, 3}},
                 {"aten::new_zeros(self=f32:3x4^, size=[3,4])", {4, 1}},
                 {"aten::empty_strided(size=[3,4], stride=[1,3])", {1, 3}},
                 {"aten::einsum(equation=\"ij,jk->ki\", tensors=[f32:2x3, f32:3x4])", {1, 4}},
                 {"aten::einsum(equation=\"bij,bjk->bki\", tensors=[f32:5x2x3, f32:5x3x4])", {8, 1, 4}},
                 {"aten::einsum(equation=\"ij,jk,kl->li\", tensors=[f32:2x3, f32:3x4, f32:4x5])", {1, 5}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_text t;
        const char *error = call_text_run(&t, adept_handlers(), cases[i].call);
        if (error) fail_msg("%s: %s", cases[i].call, error);
        const adept_tensor *out = t.call.results[0].u.t;
        for (int d = 0; d < out->ndim; d++)
            if (out->strides[d] != cases[i].strides[d]) {
                print_error("%s: stride %lld\n", cases[i].call, (long long)out->strides[d]);
                bad++;
            }
        call_text_free(&t);
    }
    assert_int_equal(bad, 0);
}

/* torchvision samples a fixed grid only where sampling_ratio is positive; else its size depends on the regions. */
static void what_regions_decide_is_said(void **state)
{
    (void)state;
    for (int ratio = -1; ratio <= 1; ratio++) {
        call_text t;
        char text[300];
        snprintf(text, sizeof text,
                 "torchvision::roi_align(input=f32:1x2x8x8, rois=f32:3x5, spatial_scale=0.25, pooled_height=4, "
                 "pooled_width=4, sampling_ratio=%d, aligned=true)",
                 ratio);
        assert_null(call_text_run(&t, adept_handlers(), text));
        assert_true((t.call.assumes != NULL) == (ratio <= 0));
        call_text_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_those_by_hand),
        cmocka_unit_test(strides_are_pytorchs),
        cmocka_unit_test(what_regions_decide_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
