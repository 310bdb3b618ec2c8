/* adept_torch_prepare and adept_torch_import: what the module gives. No exception leaves either. */
#include "adept_torch.h"
#include "failure.hpp"
#include "lower.hpp"
#include "reader.hpp"
#include "schemas.hpp"
#include <ATen/Context.h>
#include <ATen/ops/_empty_affine_quantized.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <cstring>
#include <memory>
#include <new>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

namespace adept
{
namespace
{

/* A weight of one number. */
void pack_a_weight()
{
    at::Tensor weight = at::_empty_affine_quantized({1, 1}, at::dtype(at::kQInt8), 1, 0);
    torch::jit::Stack stack{weight, c10::IValue()};
    c10::Dispatcher::singleton().findSchemaOrThrow("quantized::linear_prepack", "").callBoxed(&stack);
}

/* Libtorch may still open files and start threads; and it shall pack 8-bit weights by the engine that makes no machine
 * code for it, or by none: memory that is executed is refused later, and oneDNN writes a file of what it makes, as on
 * aarch64. The engine begins by reading what the processor is, in /proc and /sys: libtorch 1.13 does so for its
 * threads, 2.6 when there is something to pack. */
void prepare()
{
    at::QEngine own = at::kNoQEngine;
    for (at::QEngine engine : at::globalContext().supportedQEngines())
        if (engine == at::kQNNPACK) own = engine;
    at::globalContext().setQEngine(own);
    at::set_num_threads(1);
    pack_a_weight();
}

/* One printable line of a message, from `begin` on. */
std::string line_at(const std::string &text, size_t begin)
{
    std::string line = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
    for (char &c : line) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    return line.substr(0, line.find_last_not_of(' ') + 1);
}

/* CONDITION INTERNAL ASSERT FAILED at "FILE":LINE, please report a bug to PyTorch. REASON: here the file is at fault.
 */
std::string without_plea(const std::string &line)
{
    static const std::string plea = ", please report a bug to PyTorch", failed = " INTERNAL ASSERT FAILED";
    size_t at = line.find(plea);
    if (at == std::string::npos) return line;
    size_t reason = line.find_first_not_of(". ", at + plea.size());
    return "libtorch finds it inconsistent: " +
           (reason == std::string::npos ? line.substr(0, line.find(failed)) : line.substr(reason));
}

/* libtorch's messages start with empty lines, and go on with a backtrace or an excerpt of the program in which the
 * line above "<--- HERE" is the guilty one. */
std::string summary(const std::string &text)
{
    size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) return "no reason given";
    std::string line = without_plea(line_at(text, begin));
    if (line.back() == ':') { /* a schema, followed by what is wrong with the call */
        size_t next = text.find_first_not_of(" \t\r\n", begin + line.size());
        if (next != std::string::npos) line += " " + without_plea(line_at(text, next));
    }
    size_t here = text.find("<--- HERE");
    size_t marks = here == std::string::npos ? here : text.rfind('\n', here);
    size_t reason = text.rfind("\nRuntimeError: "); /* the interpreter's, behind the excerpt */
    if (reason != std::string::npos) line = line_at(text, text.find(' ', reason) + 1);
    if (marks == std::string::npos || marks == 0) return line;
    size_t before = text.rfind('\n', marks - 1);
    size_t code = text.find_first_not_of(' ', before == std::string::npos ? 0 : before + 1);
    return line + " [" + line_at(text, code).substr(0, 200) + "]";
}

/* Loading again after declaring an operator costs a tenth of a second, and happens only for operators of others. */
torch::jit::Module load(const adept_torch_file &file)
{
    declare_newer_operators();
    unknown_operators unknown;
    torch::jit::ExtraFilesMap no_extra_files;
    for (;;) {
        try {
            return torch::jit::load(std::make_shared<model_reader>(file), c10::Device(c10::kCPU), no_extra_files);
        } catch (const failure &) {
            throw;
        } catch (const std::exception &e) {
            /* optimize_for_inference: weights in an order of their own, which torch.jit.save leaves out */
            if (std::strstr(e.what(), "required keyword attribute 'value' is undefined"))
                fail_unsupported(
                    "has layers for MKL-DNN (torch.jit.optimize_for_inference) without their weights, which "
                    "PyTorch does not write and cannot load itself; save what torch.jit.freeze gives");
            if (std::strstr(e.what(), "failed to initialize QNNPACK") || std::strstr(e.what(), "Didn't find engine") ||
                std::strstr(e.what(), "Unknown qengine"))
                fail_unsupported(
                    "has weights of 8 bits, and libtorch has no engine here that packs them (QNNPACK reads "
                    "/proc/cpuinfo and /sys/devices/system/cpu): " +
                    summary(e.what()));
            for (const char *engine : {"classes.xnnpack.", "classes.vulkan.", "classes.metal.", "XNNPACK"})
                if (std::strstr(e.what(), engine))
                    fail_unsupported(
                        "was prepared for phones (torch.utils.mobile_optimizer.optimize_for_mobile), and libtorch "
                        "cannot unpack its weights here; save the model before optimize_for_mobile, or give that "
                        "optimization_blocklist={MobileOptimizerType.INSERT_FOLD_PREPACK_OPS}: " +
                        summary(e.what()));
            if (unknown.declare_from(e.what())) continue;
            if (unknown.names().empty()) throw;
            fail_unsupported("calls operators that libtorch does not know (" + unknown.names() +
                             "), whose results seem not to be tensors: " + summary(e.what()));
        }
    }
}

adept_graph *import_file(const adept_torch_file &file)
{
    torch::jit::Module module = load(file);
    adept_graph *graph = lowering(module._ivalue()).run();
    graph->format = "torchscript";
    return graph;
}

template <typename Body> adept_status guard(const char *name, adept_error *err, Body body) noexcept
{
    try {
        try {
            body();
            return ADEPT_OK;
        } catch (const failure &e) {
            return adept_error_set(err, e.status(), "%s: %s", name, e.what());
        } catch (const c10::Error &e) {
            return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", name, summary(e.what_without_backtrace()).c_str());
        } catch (const std::bad_alloc &) {
            return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", name);
        } catch (const std::exception &e) {
            return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", name, summary(e.what()).c_str());
        }
    } catch (...) { /* not a standard exception, or no memory left to word the message */
        return adept_error_set(err, ADEPT_E_INVALID, "%s: the loader failed", name);
    }
}

} // namespace
} // namespace adept

extern "C" void adept_torch_prepare(void)
{
    try {
        adept::prepare();
    } catch (...) { /* what cannot begin fails again where a file needs it */
    }
}

extern "C" adept_status adept_torch_import(int abi, adept_graph **out, const adept_torch_file *file,
                                           adept_error *err)
{
    if (abi != ADEPT_TORCH_ABI) {
        return adept_error_set(
            err, ADEPT_E_INTERNAL,
            "the libtorch module has interface version %d, this program %d: they come from different builds",
            ADEPT_TORCH_ABI, abi);
    }
    return adept::guard(file->name, err, [&] { *out = adept::import_file(*file); });
}
