# Random small programs: what PyTorch refuses is refused, and the rest has its shapes, types and products. Sixty of them;
# tests/differential/check_random_programs.py alone tries 2,000. Skipped without PyTorch.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
need_python "torch.utils._python_dispatch"
checks=$((checks + 1))
"$python" -W ignore "$ADEPT_SOURCE_DIR/tests/differential/check_random_programs.py" --build "$(dirname "$ADEPT")/.." \
    --programs 60 --seed 1 >"$work/out" 2>"$work/err" || { cat "$work/out"; tail -n 5 "$work/err"; fail 'a program differs'; }
tail -n 1 "$work/out"
finish
