#!/bin/sh
# Run a test of the Python package with a Python that has PyTorch, where there is one. usage: run.sh TEST.py PYTHON
set -eu
ADEPT_PROGRAM=$ADEPT
export ADEPT_PROGRAM
for python in "$2" /usr/bin/python3; do
    if "$python" -c 'import torch' 2>/dev/null; then
        exec "$python" -B "$1"
    fi
done
exec "$2" -B "$1" # what needs PyTorch is skipped
