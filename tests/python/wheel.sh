#!/bin/sh
# `pip wheel .` builds a package that has library and program of its own, and needs neither libtorch nor a build tree.
# usage: wheel.sh WORK; environment: ADEPT_SOURCE_DIR. Needs pip, scikit-build-core 0.10 and what adept is built with.
set -eu
work=$1
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import pip, scikit_build_core.build' 2>/dev/null; then
        break
    fi
    python=
done
[ -n "$python" ] || { echo "no Python with pip and scikit-build-core"; exit 77; }
unset ADEPT_LIBRARY ADEPT_TORCH_MODULE PYTHONPATH
rm -rf "$work"
"$python" -m pip wheel -q --no-build-isolation --no-deps --no-index -w "$work" "$ADEPT_SOURCE_DIR"
"$python" -m pip install -q --no-deps --no-index --target "$work/installed" "$work"/adept-*-py3-none-*.whl
! ldd "$work/installed/adept/bin/adept" "$work/installed/adept/lib"/libadept.so.* | grep -E 'libtorch|libgsl|not found'
cd "$work"
PYTHONPATH=$work/installed "$python" -B "$ADEPT_SOURCE_DIR/tests/python/test_package.py"
PYTHONPATH=$work/installed "$python" -B -m adept --version
# The bundled models are in it, where program and library look first.
[ "$(ls "$work"/installed/adept/share/adept/models/*.profile.json | wc -l)" -eq 28 ]
cp "$ADEPT_SOURCE_DIR/tests/cli/data/mlp.profile.json" "$work/installed/adept/share/adept/models/mine.profile.json"
PYTHONPATH=$work/installed "$python" -B -m adept predict mine --gpu a100 --json | grep -q '"mlp.pt"'
PYTHONPATH=$work/installed "$python" -B -c 'import adept; assert adept.Workload.open("mine").describe().model == "mlp.pt"
assert adept.predict("resnet50", gpu="a100", batch=8).step_time_s > 0'
