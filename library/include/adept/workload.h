/** @file adept/workload.h  What runs (a workload) and where (a GPU), loaded from files or memory. Part of
 * <adept/adept.h>.
 *
 *  Loading allocates and parses; do it once. A handle is immutable: any number of threads may use one at the same time,
 * and each is freed once, when nothing uses it any more. All files and bytes are treated as hostile. */
#ifndef ADEPT_PUBLIC_WORKLOAD_H
#define ADEPT_PUBLIC_WORKLOAD_H
#include <adept/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model with shapes, precision, mode and optimizer: everything of a step that does not depend on the GPU. */
typedef struct adept_workload adept_workload;
/** A GPU: its specification sheet, and fitted parameters if there are any. */
typedef struct adept_gpu adept_gpu;

/** What runs. Zero or NULL is not given: then what a saved profile was saved with counts, of a model the shapes in its
 * file and what is called default here. */
typedef struct adept_model_options {
    const char *mode;          /* "train" (default), "fwbw", "infer" */
    /* "fp32" (default), "tf32", "bf16", "fp16", "pure-bf16", "pure-fp16", "fp8", "fp8:row", "fp8:block", "mxfp8",
       "nvfp4"; "pure-" before any of these */
    const char *precision;
    const char *optimizer;     /* "adamw" (default), "sgd", "none", ... */
    const char *attention;     /* "auto" (default), "eager", "fused" */
    int64_t batch_size;        /* per GPU and pass */
    int64_t seq_length;        /* S of the shapes, or the L of integer inputs B x L */
    int64_t grad_accum;        /* forward-backward passes per optimizer step; default 1 */
    const char *const *inputs; /* n_inputs texts as of `--input`: "Bx3x224x224", "i64:BxS", "n=3" */
    size_t n_inputs;
    int allow_unsupported;     /* count an operator that is not known as a copy */
    const char *memory_format; /* of images: "auto" (default), "nchw", "channels_last" */
    const char *optimizer_impl;   /* "auto" (default, foreach), "foreach", "fused", "forloop" */
    const char *optimizer_extras; /* "none" (default), or of clip, unscale, master, ema, zero_grad: "clip,ema" */
    /* what the model's file does not tell, NULL at the end: "mylib::op=Bx128", "branch=true", "fraction=0.25" */
    const char *const *assume;
    const char *execution;        /* "eager" (default), "graphs", "compile" */
    /* that reading and counting the model may take, about; 0: 1 GiB. What takes more is ADEPT_E_INVALID */
    uint64_t memory_bytes;
    /* whose kernels run: "torch2" (default), "torch1" (PyTorch 1 with libraries of CUDA 10 or 11) */
    const char *framework;
    const char *const *words; /* any of adept_workload_word(), "KEY=VALUE" each, NULL at the end: "grad_accum=2". Over
                                 the members above. NULL: none */
} adept_model_options;

/**
 * Load a profile that `adept profile -o` wrote, a model that torch.export saved (.pt2), or a config.json of Hugging
 * Face (or a folder with one); the content decides, not the name. Where there is no such file, "adept:FAMILY?key=value"
 * or a bundled model by its name
 * ("resnet50", "llama-3-8b"): its file beside the library, or where it was built to be installed.
 * @param out      set on ADEPT_OK; adept_workload_free()
 * @param options  NULL: none given
 * @return ADEPT_E_INVALID for a bad file; ADEPT_E_USAGE for an option that does not fit it; ADEPT_E_UNSUPPORTED for an
 * operator without a handler, and for TorchScript (.pt): no libtorch is loaded here, `adept profile MODEL.pt -o FILE`
 * writes a profile Thread-safe, without waiting, also in a child that a program with threads forked.
 */
ADEPT_API adept_status adept_workload_open(adept_workload **out, const char *path, const adept_model_options *options,
                                           adept_error *err);
/** The same from `size` bytes in memory, which may go when it returns. `name` is for messages. */
ADEPT_API adept_status adept_workload_read(adept_workload **out, const char *name, const void *data, size_t size,
                                           const adept_model_options *options, adept_error *err);
/**
 * The same model under other options: its graph is walked again, without a file. Every count is what loading the file
 * with them gives.
 * @param out       set on ADEPT_OK; adept_workload_free(), before the workload that was loaded, whose graph it uses
 * @param workload  loaded, or itself made by this function
 * @param options   what is not given is as `workload` has it
 * @return ADEPT_E_USAGE where the model cannot run so: a batch or length that its trace fixed, more positions than it
 * has Thread-safe, also on one workload, without waiting. Takes a few milliseconds.
 */
ADEPT_API adept_status adept_workload_with(adept_workload **out, const adept_workload *workload,
                                           const adept_model_options *options, adept_error *err);
/** The same with a batch size and a sequence length; 0: that of `workload`. */
ADEPT_API adept_status adept_workload_at(adept_workload **out, const adept_workload *workload, int64_t batch_size,
                                         int64_t seq_length, adept_error *err);
/** Names of the words of a workload: "mode", "precision", ...; NULL past the end. Constant. Thread-safe. */
ADEPT_API const char *adept_workload_word(size_t index);
/** NULL allowed. Nothing else may be using it. */
ADEPT_API void adept_workload_free(adept_workload *workload);
/**
 * The profile with the model's graph as JSON, which adept_workload_read() reads.
 * @param text  zero-terminated; adept_text_free()
 * Thread-safe.
 */
ADEPT_API adept_status adept_workload_to_json(char **text, const adept_workload *workload, adept_error *err);
/** Free a text that the library made; NULL allowed. Thread-safe. */
ADEPT_API void adept_text_free(char *text);

/** What is known of a workload. Texts are borrowed from it. */
typedef struct adept_workload_info {
    const char *model;      /* path it was profiled from */
    const char *mode;       /* "train" */
    const char *precision;  /* "bf16" */
    const char *optimizer;  /* "adamw"; "none" unless mode is train */
    const char *attention;  /* "auto" */
    int64_t batch_size;     /* per GPU and pass */
    int64_t grad_accum;
    int64_t params, trainable_params;
    double flops_forward, flops_backward; /* of one pass on one GPU */
    double macs_forward;    /* multiply-adds of matrix products and convolutions */
    int64_t seq_length;     /* 0: none was chosen, it is only part of the shapes */
    double reserved[4];
} adept_workload_info;
/** @param workload  NULL: all is 0 and NULL. Thread-safe. */
ADEPT_API void adept_workload_describe(adept_workload_info *out, const adept_workload *workload);

/**
 * A GPU by name or alias ("a100", "h100-sxm-80gb"; upper or lower case), or by file if the text has a '/' or ends in
 * ".json".
 * @param out  set on ADEPT_OK; adept_gpu_free()
 * @return ADEPT_E_UNKNOWN_GPU with the nearest names; ADEPT_E_INVALID for a bad file. Never another GPU.
 * Thread-safe, as adept_workload_open().
 */
ADEPT_API adept_status adept_gpu_open(adept_gpu **out, const char *name_or_path, adept_error *err);
/** The same from the text of a hardware profile in memory. */
ADEPT_API adept_status adept_gpu_read(adept_gpu **out, const char *name, const void *data, size_t size,
                                      adept_error *err);
/** NULL allowed. Nothing else may be using it. */
ADEPT_API void adept_gpu_free(adept_gpu *gpu);
/** Names of the GPUs built in, in alphabetical order; NULL past the end. Constant. Thread-safe. */
ADEPT_API const char *adept_gpu_name(size_t index);

/** What is known of a GPU; NAN where it is not. Texts are borrowed from it. */
typedef struct adept_gpu_info {
    const char *name, *vendor, *architecture;
    const char *granularity;  /* that it is calibrated for, "model" or "operator"; NULL: it is not calibrated */
    int32_t transferred;      /* not 0: not calibrated, but its parameters were fitted to other GPUs */
    int32_t reserved_int;
    double mem_bytes;
    double clock_boost_hz, clock_min_hz;
    double tdp_w, power_limit_min_w, power_limit_max_w, idle_w; /* of the board */
    const char *taken;        /* "GPU 'a100' is taken as a100-sxm-40gb, ..."; NULL: no other has the name */
    double reserved[3];
} adept_gpu_info;
/** @param gpu  NULL: all is 0 and NULL. Thread-safe. */
ADEPT_API void adept_gpu_describe(adept_gpu_info *out, const adept_gpu *gpu);

#ifdef __cplusplus
}
#endif
#endif
