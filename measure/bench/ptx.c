/** @file ptx.c  The kernels as NVIDIA's driver compiles them: text in PTX, "Parallel Thread Execution ISA",
 * version 6.0, which drivers since CUDA 9 read for every board since Maxwell. No matrix units, no shared memory: what
 * passes.c does, a thread for each result or row.
 *
 *  d0 to d3 are the addresses of a, b, c and columns, r0 is n, r1 how many threads have work, r5 the thread's number.
 */
#include "passes.h"

#define BEGIN(name)                                                                                                    \
    ".visible .entry " name "(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pcolumns, .param .u32 pn, "  \
    ".param .u32 pthreads)\n"                                                                                          \
    "{\n"                                                                                                              \
    ".reg .pred %p<4>;\n"                                                                                              \
    ".reg .b32 %r<16>;\n"                                                                                              \
    ".reg .f32 %f<32>;\n"                                                                                              \
    ".reg .b64 %d<16>;\n"                                                                                              \
    "ld.param.u64 %d0, [pa];\n"                                                                                        \
    "ld.param.u64 %d1, [pb];\n"                                                                                        \
    "ld.param.u64 %d2, [pc];\n"                                                                                        \
    "ld.param.u64 %d3, [pcolumns];\n"                                                                                  \
    "ld.param.u32 %r0, [pn];\n"                                                                                        \
    "ld.param.u32 %r1, [pthreads];\n"                                                                                  \
    "cvta.to.global.u64 %d0, %d0;\n"                                                                                   \
    "cvta.to.global.u64 %d1, %d1;\n"                                                                                   \
    "cvta.to.global.u64 %d2, %d2;\n"                                                                                   \
    "cvta.to.global.u64 %d3, %d3;\n"                                                                                   \
    "mov.u32 %r2, %ctaid.x;\n"                                                                                         \
    "mov.u32 %r3, %ntid.x;\n"                                                                                          \
    "mov.u32 %r4, %tid.x;\n"                                                                                           \
    "mad.lo.u32 %r5, %r2, %r3, %r4;\n"                                                                                 \
    "setp.ge.u32 %p0, %r5, %r1;\n"                                                                                     \
    "@%p0 bra end_" name ";\n"
#define END(name)                                                                                                      \
    "end_" name ":\n"                                                                                                  \
    "ret;\n"                                                                                                           \
    "}\n"
/* A row of a thread's 4 x 4 results, one step: sums of f(4r) behind a's number in f(16 + r). */
#define GEMM_ROW(a, c0, c1, c2, c3)                                                                                    \
    "fma.rn.f32 " c0 ", " a ", %f20, " c0 ";\n"                                                                        \
    "fma.rn.f32 " c1 ", " a ", %f21, " c1 ";\n"                                                                        \
    "fma.rn.f32 " c2 ", " a ", %f22, " c2 ";\n"                                                                        \
    "fma.rn.f32 " c3 ", " a ", %f23, " c3 ";\n"
#define ZERO(f) "mov.f32 " f ", 0f00000000;\n"
#define MIX(x)                                                                                                         \
    "shr.u32 %r10, " x ", 16;\n"                                                                                       \
    "xor.b32 " x ", " x ", %r10;\n"                                                                                    \
    "mul.lo.u32 " x ", " x ", 0x85ebca6b;\n"                                                                           \
    "shr.u32 %r10, " x ", 13;\n"                                                                                       \
    "xor.b32 " x ", " x ", %r10;\n"                                                                                    \
    "mul.lo.u32 " x ", " x ", 0xc2b2ae35;\n"                                                                           \
    "shr.u32 %r10, " x ", 16;\n"                                                                                       \
    "xor.b32 " x ", " x ", %r10;\n"                                                                                    \
    "shr.u32 " x ", " x ", 8;\n"
/* A coordinate of thread i's point less that of j's, into a register: i at d4, j at d5; on to the next coordinate. */
#define DIFFERENCE(f)                                                                                                  \
    "ld.global.f32 " f ", [%d4];\n"                                                                                    \
    "ld.global.f32 %f9, [%d5];\n"                                                                                      \
    "sub.f32 " f ", " f ", %f9;\n"                                                                                     \
    "add.s64 %d4, %d4, %d6;\n"                                                                                         \
    "add.s64 %d5, %d5, %d6;\n"

const char adept_bench_ptx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    /* ---- a tile of 4 x 4 results: its row of tiles is r6, its column r7 */
    BEGIN("gemm")
    "shr.u32 %r8, %r0, 2;\n"
    "div.u32 %r6, %r5, %r8;\n"
    "rem.u32 %r7, %r5, %r8;\n"
    "mul.wide.u32 %d8, %r0, 4;\n" /* bytes of a row */
    "shl.b32 %r6, %r6, 2;\n"
    "cvt.u64.u32 %d9, %r6;\n"
    "mul.lo.u64 %d9, %d9, %d8;\n"
    "add.s64 %d4, %d0, %d9;\n" /* a's four rows */
    "add.s64 %d5, %d4, %d8;\n"
    "add.s64 %d6, %d5, %d8;\n"
    "add.s64 %d7, %d6, %d8;\n"
    "mul.wide.u32 %d10, %r7, 16;\n"
    "add.s64 %d1, %d1, %d10;\n"
    "add.s64 %d2, %d2, %d9;\n"
    "add.s64 %d2, %d2, %d10;\n"
    ZERO("%f0") ZERO("%f1") ZERO("%f2") ZERO("%f3") ZERO("%f4") ZERO("%f5") ZERO("%f6") ZERO("%f7")
    ZERO("%f8") ZERO("%f9") ZERO("%f10") ZERO("%f11") ZERO("%f12") ZERO("%f13") ZERO("%f14") ZERO("%f15")
    "mov.u32 %r9, 0;\n"
    "GEMM:\n"
    "ld.global.f32 %f16, [%d4];\n"
    "ld.global.f32 %f17, [%d5];\n"
    "ld.global.f32 %f18, [%d6];\n"
    "ld.global.f32 %f19, [%d7];\n"
    "ld.global.v4.f32 {%f20, %f21, %f22, %f23}, [%d1];\n"
    GEMM_ROW("%f16", "%f0", "%f1", "%f2", "%f3")
    GEMM_ROW("%f17", "%f4", "%f5", "%f6", "%f7")
    GEMM_ROW("%f18", "%f8", "%f9", "%f10", "%f11")
    GEMM_ROW("%f19", "%f12", "%f13", "%f14", "%f15")
    "add.s64 %d4, %d4, 4;\n"
    "add.s64 %d5, %d5, 4;\n"
    "add.s64 %d6, %d6, 4;\n"
    "add.s64 %d7, %d7, 4;\n"
    "add.s64 %d1, %d1, %d8;\n"
    "add.u32 %r9, %r9, 1;\n"
    "setp.lt.u32 %p1, %r9, %r0;\n"
    "@%p1 bra GEMM;\n"
    "st.global.v4.f32 [%d2], {%f0, %f1, %f2, %f3};\n"
    "add.s64 %d2, %d2, %d8;\n"
    "st.global.v4.f32 [%d2], {%f4, %f5, %f6, %f7};\n"
    "add.s64 %d2, %d2, %d8;\n"
    "st.global.v4.f32 [%d2], {%f8, %f9, %f10, %f11};\n"
    "add.s64 %d2, %d2, %d8;\n"
    "st.global.v4.f32 [%d2], {%f12, %f13, %f14, %f15};\n"
    END("gemm")
    /* ---- a row of 16 entries */
    BEGIN("spmv")
    "mul.wide.u32 %d4, %r5, 64;\n"
    "add.s64 %d0, %d0, %d4;\n"
    "add.s64 %d3, %d3, %d4;\n"
    ZERO("%f0")
    "mov.u32 %r6, 0;\n"
    "SPMV:\n"
    "ld.global.f32 %f1, [%d0];\n"
    "ld.global.u32 %r7, [%d3];\n"
    "mul.wide.u32 %d5, %r7, 4;\n"
    "add.s64 %d5, %d1, %d5;\n"
    "ld.global.f32 %f2, [%d5];\n"
    "fma.rn.f32 %f0, %f1, %f2, %f0;\n"
    "add.s64 %d0, %d0, 4;\n"
    "add.s64 %d3, %d3, 4;\n"
    "add.u32 %r6, %r6, 1;\n"
    "setp.lt.u32 %p1, %r6, 16;\n"
    "@%p1 bra SPMV;\n"
    "mul.wide.u32 %d4, %r5, 4;\n"
    "add.s64 %d2, %d2, %d4;\n"
    "st.global.f32 [%d2], %f0;\n"
    END("spmv")
    BEGIN("triad")
    "mul.wide.u32 %d4, %r5, 4;\n"
    "add.s64 %d0, %d0, %d4;\n"
    "add.s64 %d1, %d1, %d4;\n"
    "add.s64 %d2, %d2, %d4;\n"
    "ld.global.f32 %f0, [%d0];\n"
    "ld.global.f32 %f1, [%d1];\n"
    "fma.rn.f32 %f0, %f1, 0f40400000, %f0;\n" /* 3 */
    "st.global.f32 [%d2], %f0;\n"
    END("triad")
    /* ---- a point; r6 is the inner width */
    BEGIN("stencil")
    "sub.u32 %r6, %r0, 2;\n"
    "div.u32 %r7, %r5, %r6;\n"
    "rem.u32 %r8, %r5, %r6;\n"
    "add.u32 %r7, %r7, 1;\n"
    "add.u32 %r8, %r8, 1;\n"
    "mad.lo.u32 %r9, %r7, %r0, %r8;\n"
    "mul.wide.u32 %d4, %r9, 4;\n"
    "mul.wide.u32 %d5, %r0, 4;\n"
    "add.s64 %d0, %d0, %d4;\n"
    "add.s64 %d2, %d2, %d4;\n"
    "sub.s64 %d6, %d0, %d5;\n"
    "add.s64 %d7, %d0, %d5;\n"
    "ld.global.f32 %f0, [%d0];\n"
    "ld.global.f32 %f1, [%d0+-4];\n"
    "ld.global.f32 %f2, [%d0+4];\n"
    "ld.global.f32 %f3, [%d6];\n"
    "ld.global.f32 %f4, [%d7];\n"
    "add.f32 %f0, %f0, %f1;\n"
    "add.f32 %f0, %f0, %f2;\n"
    "add.f32 %f0, %f0, %f3;\n"
    "add.f32 %f0, %f0, %f4;\n"
    "mul.f32 %f0, %f0, 0f3E4CCCCD;\n" /* 0.2 */
    "st.global.f32 [%d2], %f0;\n"
    END("stencil")
    /* ---- 4096 points, whose numbers go up from r6 */
    BEGIN("monte_carlo")
    "shl.b32 %r6, %r5, 12;\n"
    "mov.u32 %r7, 0;\n"
    "mov.u32 %r11, 0;\n"
    "MONTE_CARLO:\n"
    "mov.u32 %r8, %r6;\n"
    "not.b32 %r9, %r6;\n"
    MIX("%r8")
    MIX("%r9")
    "cvt.rn.f32.u32 %f0, %r8;\n"
    "cvt.rn.f32.u32 %f1, %r9;\n"
    "mul.f32 %f0, %f0, 0f33800000;\n" /* 2^-24 */
    "mul.f32 %f1, %f1, 0f33800000;\n"
    "mul.f32 %f0, %f0, %f0;\n"
    "fma.rn.f32 %f0, %f1, %f1, %f0;\n"
    "setp.le.f32 %p1, %f0, 0f3F800000;\n"
    "@%p1 add.u32 %r11, %r11, 1;\n"
    "add.u32 %r6, %r6, 1;\n"
    "add.u32 %r7, %r7, 1;\n"
    "setp.lt.u32 %p2, %r7, 4096;\n"
    "@%p2 bra MONTE_CARLO;\n"
    "cvt.rn.f32.u32 %f0, %r11;\n"
    "mul.wide.u32 %d4, %r5, 4;\n"
    "add.s64 %d2, %d2, %d4;\n"
    "st.global.f32 [%d2], %f0;\n"
    END("monte_carlo")
    /* ---- a pair */
    BEGIN("distance")
    "div.u32 %r6, %r5, %r0;\n"
    "rem.u32 %r7, %r5, %r0;\n"
    "mul.wide.u32 %d4, %r6, 4;\n"
    "mul.wide.u32 %d5, %r7, 4;\n"
    "mul.wide.u32 %d6, %r0, 4;\n"
    "add.s64 %d4, %d0, %d4;\n"
    "add.s64 %d5, %d0, %d5;\n"
    DIFFERENCE("%f0") DIFFERENCE("%f1") DIFFERENCE("%f2")
    "mul.f32 %f0, %f0, %f0;\n"
    "fma.rn.f32 %f0, %f1, %f1, %f0;\n"
    "fma.rn.f32 %f0, %f2, %f2, %f0;\n"
    "sqrt.rn.f32 %f0, %f0;\n"
    "mul.wide.u32 %d4, %r5, 4;\n"
    "add.s64 %d2, %d2, %d4;\n"
    "st.global.f32 [%d2], %f0;\n"
    END("distance");

uint32_t adept_bench_gpu_threads(adept_bench_kernel kernel, const adept_bench_data *d)
{
    switch (kernel) {
    case ADEPT_BENCH_GEMM:
        return d->n / 4 * (d->n / 4);
    case ADEPT_BENCH_STENCIL:
    case ADEPT_BENCH_DISTANCE:
        return d->rows * d->rows;
    default:
        return d->rows;
    }
}
