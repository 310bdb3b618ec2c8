# adept bench: every way computes the same, and has the joules of its runs; the GPU's kernels are worked out by a driver that stands in for
# NVIDIA's and reads the PTX itself (tests/measure/fake_cuda.c). No real GPU is needed.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python json
: "${ADEPT_FAKE_NVML:?}" "${ADEPT_FAKE_CUDA:?}"
export ADEPT_NVML_LIBRARY="$ADEPT_FAKE_NVML" FAKE_NVML='power=constant:200' ADEPT_CUDA_LIBRARY="$ADEPT_FAKE_CUDA"

# check WHAT PYTHON: the last run's stdout as `text`
check() {
    checks=$((checks + 1))
    "$python" -c "
import csv, io, json
text = open('$work/out').read()
$2" >"$work/said" 2>&1 || { fail "$1"; sed 's/^/    /' "$work/said"; }
}

expect_ok bench --size 0.001 --seconds 0.02 --repeat 2 --threads 3 --devices gpu --json
check 'all kernels in all ways' "
d = json.loads(text)
assert d['schema_version'] == 1 and d['kind'] == 'bench' and d['threads'] == 3 and d['gpu'] == 'Stand-in GPU 0000:01:00.0', d
pairs = [(r['kernel'], r['way']) for r in d['results']]
kernels = ['gemm', 'spmv', 'triad', 'stencil', 'monte_carlo', 'distance']
assert pairs == [(k, w) for k in kernels for w in ('scalar', 'simd', 'threads', 'gpu')], pairs
n = {r['kernel']: r for r in d['results']}
assert n['triad']['flops'] * 6 == n['triad']['bytes'] and n['gemm']['flops'] == 2 * 112 ** 3 and n['gemm']['bytes'] == 12 * 112 ** 2, n
for r in d['results']:
    assert r['runs'] == 2 and r['passes'] >= 1 and r['time_s'] > 0 and r['time_sd_s'] >= 0, r
    assert abs(r['energy_j'] - 200 * r['time_s']) < 20 * r['time_s'] and abs(r['gpu_energy_j'] - r['energy_j']) < 1e-9, r
    assert r['cpu_energy_j'] is None and r['bound'] in ('compute', 'memory'), r
    assert abs(r['flops_per_j'] - r['flops'] / r['energy_j']) < 1e-6 * r['flops_per_j'], r
    if r['way'] == 'scalar':
        assert r['speedup'] == 1 and r['energy_ratio'] == 1, r"

# without a meter an energy is unknown, not 0; without a driver the GPU is a note, unless it was asked for
ADEPT_NVML_LIBRARY=/none ADEPT_CUDA_LIBRARY=/none expect_ok bench triad --size 0.001 --seconds 0.01 --devices gpu --json
check 'what is missing' "
d = json.loads(text)
assert [r['way'] for r in d['results']] == ['scalar', 'simd', 'threads'] and d['gpu'] is None, d
assert all(r['energy_j'] is None and r['avg_power_w'] is None and r['runs'] == 5 and r['bound'] is None for r in d['results']), d
assert any(m['name'] == 'bench gpu' for m in d['missing']), d['missing']"
ADEPT_CUDA_LIBRARY=/none expect_error 1 "NVIDIA's driver: /none: cannot open" bench triad --ways gpu
FAKE_CUDA=none expect_error 1 'shows no GPU' bench triad --ways gpu
# a way that computes something else is not reported
FAKE_CUDA=wrong expect_error 1 'triad gpu: its results add up to' bench triad --ways scalar,gpu --size 0.001
expect_ok bench stencil gemm triad --ways simd --size 0.001 --seconds 0.01 --repeat 1 --csv
check 'CSV, in the order of the list' "
rows = list(csv.DictReader(io.StringIO(text)))
assert [(r['kernel'], r['way'], r['time_sd_s']) for r in rows] == [('gemm', 'simd', ''), ('triad', 'simd', ''), ('stencil', 'simd', '')], rows"
expect_ok bench triad --ways scalar,simd --size 0.001 --seconds 0.01 --repeat 2
shows '^kernel +way +time +faster +power +energy'
expect_error 2 "KERNEL: 'gem' is not one of gemm, spmv" bench gem
expect_error 2 "'omp' is not one of scalar, simd, threads, gpu" bench --ways omp
expect_error 2 'at most 64' bench --size 65
expect_error 2 'exclude each other' bench --csv --json
finish
