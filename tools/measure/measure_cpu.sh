#!/bin/sh
# Measure data/measurements/cpu-xeon-avx512-1core.csv again, on one core of this machine (25 minutes).
# Usage: sh tools/measure/measure_cpu.sh FILE.csv [CORE]      (on Debian: apt install python3-torch python3-torchvision libopenblas0-pthread)
# An interrupted run goes on where it stopped. Give the machine nothing else to do meanwhile.
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
out=${1:?"the CSV to write"}
core=${2:-1}
python=${PYTHON:-/usr/bin/python3}
gpu=cpu-xeon-avx512-1core
OMP_NUM_THREADS=1
OPENBLAS_NUM_THREADS=1
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS

m() {
    taskset -c "$core" "$python" "$top/tools/measure/measure_step.py" --device cpu --threads 1 --gpu "$gpu" --out "$out" --resume "$@"
}

# train
m resnet50 --input Bx3x32x32 --batch 8,32,128
m albert_base_v2 --input i64:Bx64 --batch 1,2,4
m distilbert_base --input i64:Bx64 --batch 1,2,4,8
m vgg16 --input Bx3x32x32 --batch 8,32,64
m vit_b_16 --batch 1,2
m tinyllama_2layers --input i64:Bx64 --batch 1,2
m mobilenet_v2 --input Bx3x224x224 --batch 1,4,8
m densenet121 --batch 1,2,4
m shufflenetv2_cifar100 --batch 16,64,128
m bert_base_seqcls --input i64:Bx64 --batch 1,2,4
m convnext_tiny --input Bx3x224x224 --batch 1,2,4
m gpt2_small --input i64:Bx32 --batch 1,2,4
m resnet50 --input Bx3x224x224 --batch 1,2,4
m vgg16 --input Bx3x32x32 --batch 32 --optimizer sgd
m albert_base_v2 --input i64:Bx128 --batch 1,2
m efficientnet_b0 --input Bx3x224x224 --batch 2,4
m squeezenet1_1 --input Bx3x224x224 --batch 4,16
m swin_t --input Bx3x224x224 --batch 1,2
m distilbert_base --input i64:Bx128 --batch 2,4
# fwbw and infer
m vgg16 --input Bx3x224x224 --batch 1,2 --mode fwbw
m vgg16 --input Bx3x224x224 --batch 2 --mode infer
m albert_base_v2 --input i64:Bx64 --batch 4 --mode fwbw,infer
m tinyllama_1.1b --input i64:Bx32 --batch 1,2 --mode infer
m tinyllama_2layers --input i64:Bx64 --batch 1,2 --mode fwbw,infer
m vit_b_16 --batch 1,4 --mode infer
m vit_b_16 --batch 2 --mode fwbw
m resnet50 --input Bx3x224x224 --batch 4 --mode fwbw,infer
m bert_base_seqcls --input i64:Bx64 --batch 4 --mode fwbw,infer
m gpt2_small --input i64:Bx32 --batch 4 --mode fwbw,infer
m mobilenet_v2 --input Bx3x224x224 --batch 8 --mode fwbw,infer
m densenet121 --batch 4 --mode fwbw,infer
m qwen2.5_0.5b --input i64:Bx32 --batch 1,2 --mode infer
m shufflenetv2_cifar100 --batch 128 --mode fwbw,infer
