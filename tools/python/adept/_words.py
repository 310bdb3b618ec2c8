"""The words of options. A plain string does as well, and is not checked here: the program knows what it takes."""
from enum import Enum


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class Mode(_Word):
    """What a step runs."""
    TRAIN = "train"  #: forward, backward and optimizer
    FWBW = "fwbw"    #: without the optimizer
    INFER = "infer"  #: forward only
    GENERATE = "generate"  #: a prompt is read, its answer written token by token (prompt=, tokens=)


class Precision(_Word):
    """BF16 and FP16 are autocast over fp32 weights, PURE_ is the whole model in 16 bits, FP8 and those behind it are BF16 with products of weights in 8 or 4 bits."""
    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
    PURE_BF16 = "pure-bf16"
    PURE_FP16 = "pure-fp16"
    FP8 = "fp8"
    PURE_FP8 = "pure-fp8"
    FP8_ROW = "fp8:row"
    PURE_FP8_ROW = "pure-fp8:row"
    FP8_BLOCK = "fp8:block"
    PURE_FP8_BLOCK = "pure-fp8:block"
    MXFP8 = "mxfp8"
    PURE_MXFP8 = "pure-mxfp8"
    NVFP4 = "nvfp4"
    PURE_NVFP4 = "pure-nvfp4"


class Optimizer(_Word):
    NONE = "none"
    SGD = "sgd"
    MOMENTUM = "momentum"
    NESTEROV = "nesterov"
    ADAM = "adam"
    ADAMW = "adamw"
    ADAMAX = "adamax"
    NADAM = "nadam"
    ADADELTA = "adadelta"
    ADAGRAD = "adagrad"
    RMSPROP = "rmsprop"
    LION = "lion"
    LAMB = "lamb"
    ADAMW8BIT = "adamw8bit"
    ADAFACTOR = "adafactor"
    BERTADAM = "bertadam"
    MUON = "muon"


class Execution(_Word):
    EAGER = "eager"
    GRAPHS = "graphs"    #: CUDA graphs: the host launches no kernels
    COMPILE = "compile"  #: torch.compile


class Framework(_Word):
    TORCH2 = "torch2"
    TORCH1 = "torch1"  #: PyTorch 1, with libraries of CUDA 10 or 11


class Attention(_Word):
    AUTO = "auto"
    EAGER = "eager"
    FUSED = "fused"


class MemoryFormat(_Word):
    AUTO = "auto"
    NCHW = "nchw"
    CHANNELS_LAST = "channels_last"
