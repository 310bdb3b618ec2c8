"""The commands that run.py compares, and the files that they read. An id names a command for good: new ones are added, none is renamed."""
import gzip
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CORPUS = os.path.join(TOP, "tests/fuzz/corpus")

MODELS = ("albert_base_v2 bert_base_qa bert_large_pretrain bert_large_seqcls deepspeech2 distilbert_base dit_block dit_xl_2 gpt2 gpt2_large "
          "gpt2_medium gpt2_xl gpt3_27 gpt3_xl llama3_8b neumf opt_13 qwen2.5_0.5b qwen2.5_1.5b qwen2.5_3b resnet50 shufflenetv2_cifar100 "
          "switch_base_8 t5_base tinyllama_1.1b unet_diffusion vgg16 vit_b_16").split()
# Calibrated by each granularity, a set's parameters on one board of each generation, no GPU, not NVIDIA's.
SIX = ["a100-pcie-40gb", "in/model_fit.json", "h100-sxm-80gb", "l4", "cpu-xeon-avx512-1core", "mi300x"]
OTHERS = ["v100-sxm2-32gb", "rtx6000", "a10g", "b200", "gaudi2"]
GPUS = ("a10 a100-pcie-40gb a100-pcie-80gb a100-sxm-40gb a100-sxm-80gb a10g a16 a2 a30 a40 a800-pcie-80gb a800-sxm-80gb b100 b200 b300 "
        "cpu-xeon-avx512-1core gaudi2 gaudi3 gb200 gh200-144gb gh200-96gb h100-nvl h100-pcie-80gb h100-sxm-80gb h20-96gb h200-nvl "
        "h200-sxm-141gb h800-pcie-80gb h800-sxm-80gb l4 l40 l40s max-1550 mi100 mi210 mi250 mi250x mi300a mi300x mi325x mi355x "
        "p100-pcie-16gb p4 quadro-rtx-5000 quadro-rtx-8000 rtx-4000-ada rtx-4500-ada rtx-5000-ada rtx-6000-ada rtx-a2000-12gb "
        "rtx-a2000-6gb rtx-a4000 rtx-a4500 rtx-a5000 rtx-a5500 rtx-a6000 rtx-pro-6000 rtx3060-12gb rtx3060ti rtx3070 rtx3070ti "
        "rtx3080-10gb rtx3080-12gb rtx3080-laptop-16gb rtx3080ti rtx3090 rtx3090ti rtx4060 rtx4060ti-16gb rtx4060ti-8gb rtx4070 "
        "rtx4070super rtx4070ti rtx4070tisuper rtx4080 rtx4080super rtx4090 rtx5070 rtx5070ti rtx5080 rtx5090 rtx6000 t4 "
        "v100-pcie-16gb v100-pcie-32gb v100-sxm2-16gb v100-sxm2-32gb").split()

# What predict is asked, in turns over models and GPUs. Some of it a model, GPU or granularity refuses, which is compared as well.
OPTIONS = [line.split() for line in """\
--precision tf32
--precision bf16 --by layer
--precision fp16 --by op --json
--precision pure-bf16 --by kind
--precision pure-fp16 --json
--mode infer
--mode infer --precision bf16 --json --by layer
--mode fwbw --json
--execution graphs
--execution compile --precision bf16 --json
--execution compile --by op
--gpus 4
--gpus 8 --json --by layer
--gpus 4 --overlap none --json
--gpus 8 --overlap bucketed --bucket-bytes 10MiB
--gpus 4 --overlap fixed --link board
--gpus 8 --nodes 2 --internode-bandwidth 25GB/s
--gpus 16 --nodes 4 --internode-bandwidth 100Gbit/s --internode-latency 5us --allreduce tree --json
--gpus 16 --nodes 2 --internode-bandwidth 200Gbps --allreduce auto
--power-limit 200
--power-limit 60 --json
--clock 1000
--clock 1.2GHz --power-limit 150W --json
--optimizer sgd --json
--optimizer momentum
--optimizer adam --optimizer-impl fused
--optimizer adadelta --optimizer-impl forloop --json
--optimizer none
--optimizer-extras clip,unscale,ema --precision fp16
--optimizer-extras master,zero_grad --precision bf16 --json
--attention eager
--attention fused --precision bf16 --json
--grad-accum 4
--grad-accum 3 --gpus 2 --json
--host torch1
--host torch2 --execution graphs
--host-launch 20us --host-step 2ms --host-sample 10us --json
--batch 3
--batch 7 --precision bf16 --json --by layer --depth 2
--seq-length 128
--seq-length 64 --batch 2 --json
--memory-format channels_last
--memory-format nchw --precision fp16 --json
--framework torch1 --json
--granularity model
--granularity model --gpus 4 --json
--granularity model --saturation tanh --power-limit 150
--granularity operator --by layer --depth 1
--steps 1000 --country DE --price average --pue average
--epochs 3 --dataset-size 100000 --carbon-intensity 56 --gpu-hour-price 2.5 --price 0.2 --pue 1.3 --host-power 300 --json
--samples 1e6 --country France --label label.md --gpus 2
--steps 500 --country SE --label label.json
--steps 500 --country WORLD --label label.cdx.json
--steps 500 --country EU --label label.spdx.json --json
--gpus 4 --timeline trace.json --json
--set specs.mem_bytes_per_s=x2
--set sms=x2 --set specs.l2_bytes=x0.5 --json
--set core_clock=x1.1 --by kind
--set peaks=x0.5 --json
""".splitlines()]

SWEEPS = [line.split() for line in """\
resnet50 --gpu a100 --vary batch=16,32,64
resnet50 --gpu a100 --vary batch=16,32,64 --csv
resnet50 --gpu a100 --vary batch=16,32,64 --json
resnet50 --gpu a100 --vary batch=16,32,64 -o points.csv
resnet50 --gpu a100 --vary batch=16,32,64 --json -o points.json
resnet50 --gpu a100 --vary batch=16,32,64 --html page.html --plot plot.svg
resnet50 --gpu a100 --vary power_limit_w=250:400:25 --objective edp
resnet50 --gpu a100 --vary power_limit_w=250:400:25 --html page.html
resnet50 --gpu a100 --vary clock_hz=1GHz:1.4GHz:50MHz --csv --shard 2/3
resnet50 --gpu a100 --vary clock=1GHz:1.4GHz:50MHz --csv --shard 1/3
vit_b_16 --vary gpu=a100,h100,l4 --vary precision=fp32,bf16 --csv
vit_b_16 --vary gpu=a100,h100,l4 --vary precision=fp32,bf16
vit_b_16 --vary gpu=a100,h100,l4 --vary batch=16,32,64 --plot plot.svg
gpt2 --gpu h100 --vary seq_length=256,512,1024 --vary batch=1,4 --json
gpt2 --gpu h100 --vary attention=eager,fused --vary precision=bf16,fp16 --objective energy_step_j
gpt2 --gpu h100 --vary optimizer=sgd,adam,adamw --vary grad_accum=1,4 --csv
gpt2 --gpu h100 --vary mode=train,fwbw,infer
gpt2 --gpu h100 --vary gpus=1:8:1 --csv
gpt2 --gpu h100 --vary gpus=8,16 --vary nodes=1,2 --internode-bandwidth 25GB/s --json
gpt2 --gpu h100 --gpus 16 --nodes 2 --vary internode_bytes_per_s=1e9,1e10,1e11 --csv
gpt2 --gpu h100 --gpus 16 --nodes 2 --internode-bandwidth 25GB/s --vary internode_latency_s=1e-6,1e-5 --vary allreduce=ring,tree,auto
gpt2 --gpu h100 --gpus 8 --vary bucket_bytes=1e6,1e7,1e8 --vary overlap=bucketed,none --json
resnet50 --gpu a100 --vary specs.l2_bytes=x0.5:x2:x0.5 --json
resnet50 --gpu a100-pcie-40gb --vary fit.parameters.beta_mem=x0.9,x1,x1.1 --csv
resnet50 --gpu a100 --vary sms=x0.5,x1,x2 --vary core_clock=x0.8,x1 --one-at-a-time
resnet50 --gpu a100 --vary peaks=x0.5,x1,x2 --granularity model
resnet50 --gpu a100 --vary gpus=1,2,4 --samples 1e6 --within-time 2h
resnet50 --gpu a100 --vary gpus=1,2,4 --samples 1e6 --within-time 1s --json
resnet50 --gpu a100 --vary gpus=1,2,4 --steps 1e4 --minimise cost --gpu-hour-price 1.2 --price 0.2 --pue 1.3
resnet50 --vary gpu=a100,h100 --steps 1e4 --minimise cost --gpu-hour-price a100=1.2,h100=3.5 --price 0.2 --within-cost 100
resnet50 --gpu a100 --vary gpus=1,2,4 --samples 1e6 --minimise energy --within-energy 50kWh --within-power 2kW --json
llama3_8b --gpu a100 --vary batch=1,2 --ignore-memory
llama3_8b --gpu a100 --vary batch=1,2
resnet50 --gpu in/model_fit.json --vary batch=16,32 --vary power_limit_w=60,75 --csv
resnet50 --gpu cpu-xeon-avx512-1core --vary batch=1,8 --json
resnet50 --gpu mi300x --vary batch=16,32 --vary gpus=1,8 --csv
in/mlp.profile.json --gpu a100 --vary batch=1:64:1 --csv
in/mlp.profile.json --gpu a100 --vary batch=1:64:1 --vary precision=fp32,tf32,bf16,fp16 --json
in/mlp.profile.json --gpu a100 --vary power_limit_w=x0.5,energy-optimal,edp-optimal
in/lengths.profile.json --gpu t4 --vary seq_length=8,16,32 --html page.html
""".splitlines()]

GOLDEN = {  # .pt files through libtorch: what is asked of each
    "bundled": "", "channels_last": "", "dynamic_lstm": "", "flow_eval": "--input 8x4", "gru_scripted": "", "images": "", "mixed": "",
          "mobile": "",
    "pooler": "", "tables": "", "tied": "", "gate": "--assume-branch true", "eight_bits": "", "until": "--input 8x4 --assume-trips 3"}


# ---- what is run ----

class Case:
    """Commands of one folder, in order: each is compared, with the files that it has written."""
    slow = squash = False

    def __init__(self, id_, commands, stdin=b"", needs=(), squash=False, slow=False):
        self.id, self.commands, self.stdin, self.needs, self.squash, self.slow = id_, commands, stdin, needs, squash, slow

    def words(self):
        return [" ".join(command) for command in self.commands]

    def run(self, program, here, env, timeout_s):
        if any(getattr(program, need) is None for need in self.needs):
            return None
        results, before = [], {}
        for i, command in enumerate(self.commands):
            # A word {NAME} is something of the program's tree; the first word is the program's where it is none
            words = [word.format_map(vars(program)) if word.startswith("{") and "}" in word and " " not in word else word
                     for word in command]
            if not command[:1] or not command[0].startswith("{"):
                words = [program.adept] + words
            try:
                done = subprocess.run(words, cwd=here, env=env, input=self.stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      timeout=timeout_s, check=False)
                code, out, err = str(done.returncode), done.stdout, done.stderr
            except subprocess.TimeoutExpired as late:
                code, out, err = "too slow", late.stdout or b"", late.stderr or b""
            parts = {"exit code": code.encode(), "stdout": out, "stderr": err}
            after = contents(here)
            parts.update(("file " + name, data) for name, data in after.items() if before.get(name) != data)
            before = after
            results.append((self.id if len(self.commands) == 1 else "%s/%d" % (self.id, i + 1), command, parts))
        return results


def contents(folder):
    """Files below a folder, but its inputs: {name: bytes}"""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=300)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(300)
        self.sock.connect(self.path)


class Served(Case):
    """Requests to one server, one after the other."""

    def __init__(self, id_, command, requests):
        super().__init__(id_, [command], slow=True)
        self.requests = requests

    def run(self, program, here, env, timeout_s):
        path = os.path.join(here, "s")
        server = subprocess.Popen([program.adept] + self.commands[0], cwd=here, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        results = []
        try:
            end = time.monotonic() + timeout_s
            while not os.path.exists(path) and server.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            for name, method, url, body in self.requests:
                connection = UnixConnection(path)
                try:
                    connection.request(method, url, body, {"Content-Type": "application/json"} if body is not None else {})
                    answer = connection.getresponse()
                    head = "".join("%s: %s\n" % (key, value) for key, value in answer.getheaders() if key != "Date")
                    parts = {"exit code": str(answer.status).encode(), "stdout": answer.read(), "stderr": head.encode()}
                    if url == "/metrics":
                        parts["stdout"] = b"".join(b" ".join(line.split(b" ")[:-1]) + b"\n" for line in parts["stdout"].splitlines())
                        parts["stderr"] = b""
                except (OSError, http.client.HTTPException) as error:
                    parts = {"exit code": b"no answer", "stdout": b"", "stderr": str(error).encode()}
                connection.close()
                results.append(("%s/%s" % (self.id, name), [method, url, (body or b"")[:200].decode("utf-8", "replace")], parts))
        finally:
            server.send_signal(signal.SIGTERM)
            out, err = server.communicate()
        results.append((self.id + "/end", self.commands[0], {"exit code": str(server.returncode).encode(), "stdout": out, "stderr": err}))
        return results


def short(gpu):
    return gpu.replace("in/", "").replace(".json", "")


def read_lines(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def corpus_files(kind):
    return ["in/hostile/%s/%s" % (kind, name) for name in sorted(os.listdir(os.path.join(CORPUS, kind)))]


def cases():
    found = []

    def add(id_, *words, **more):
        found.append(Case(id_.replace(" ", "_"), [list(words)], **more))

    def lines(id_, commands, **more):
        found.append(Case(id_, [line.split() for line in commands], **more))

    predictions(add)
    other_commands(add)
    for i, words in enumerate(SWEEPS):
        add("sweep/%02d" % i, "sweep", *words)
    fits(add, lines)
    measuring(add, lines)
    simulating(add, lines)
    hostile(add)
    before = []
    for line in read_lines("usage.txt"):
        if line.startswith("adept"):
            before = line[:-1].split()[1:]
            continue
        words = before + ([] if line.strip() == "(alone)" else line.split())
        add("usage/%s/%s" % ((before or ["adept"])[0], " ".join(words[len(before[:1]):])), *words)
    found.append(serving())
    embedding(add)
    ids = [case.id for case in found]
    assert len(set(ids)) == len(ids), sorted(id_ for id_ in ids if ids.count(id_) > 1)[:5]
    return found


def predictions(add):
    for i, model in enumerate(MODELS):
        for gpu in SIX:
            add("predict/%s/%s" % (model, short(gpu)), "predict", model, "--gpu", gpu)
        for gpu in SIX + OTHERS:
            add("predict/%s/%s/json" % (model, short(gpu)), "predict", model, "--gpu", gpu, "--json", "--by", "layer")
        for j, gpu in enumerate(SIX):  # three for each pair, so that each GPU meets all of them
            for k in range(3):
                words = OPTIONS[(3 * i + k + 10 * j) % len(OPTIONS)]
                add("predict/%s/%s/%s" % (model, short(gpu), " ".join(words)), "predict", model, "--gpu", gpu, *words)
        add("profile/%s" % model, "profile", model)
        add("profile/%s/json" % model, "profile", model, "--json", "-o", "saved.profile.json")
        add("profile/%s/layer" % model, "profile", model, "--by", "layer", "--precision", "bf16", "--execution", "compile")
        add("profile/%s/op" % model, "profile", model, "--by", "op", "--mode", "infer", "--gpu", SIX[i % 6])
        add("profile/%s/kind" % model, "profile", model, "--by", "kind", "--gpu", "a100", "--json")
        add("explain/%s" % model, "explain", model, "--gpu", SIX[i % 6])
        add("explain/%s/all" % model, "explain", model, "--gpu", "h100", "--precision", "bf16", "--gpus", "8", "--all", "--json")
        add("diff/%s/bf16" % model, "diff", model, model, "--gpu", "a100", "--new-precision", "bf16")
        if model in ("resnet50", "gpt2", "dit_xl_2", "neumf"):
            add("explain/%s/markdown" % model, "explain", model, "--gpu", "t4", "--power-limit", "60", "--all", "--markdown")
            add("report/%s" % model, "report", model, "--gpu", SIX[i % 6], "-o", "report.html", slow=True)
            add("report/%s/job" % model, "report", model, "--gpu", "h100", "--precision", "bf16", "--gpus", "4", "--steps", "1000",
                "--country", "FR", "-o", "report.html", "--json", slow=True)
        if model in ("resnet50", "neumf", "gpt2"):
            add("torch/%s" % model, "profile", "in/%s.pt" % model, "--json", needs=["torch"], slow=True)


def other_commands(add):
    for name in ("mlp", "lengths"):
        for gpu in SIX + OTHERS:
            add("predict/%s/%s" % (name, short(gpu)), "predict", "in/%s.profile.json" % name, "--gpu", gpu, "--json", "--by", "op")
    for what in ("", "--json", "--markdown", "--sort energy --rows 3", "--depth 2 --sort parameters", "--new-gpu h100 --json",
                 "--new-precision bf16 --markdown",
                 "--fail-above 1", "--fail-above 1 --fail-on memory", "--gpus 4 --new-batch 2"):
        for old, new in (("resnet50", "vgg16"), ("gpt2", "gpt2_medium"), ("in/mlp.profile.json", "in/lengths.profile.json")):
            add("diff/%s/%s/%s" % (os.path.basename(old), os.path.basename(new), what), "diff", old, new, "--gpu", "a100", *what.split())
    add("gpus", "gpus")
    add("gpus/json", "gpus", "--json")
    for gpu in GPUS:
        add("gpus/%s" % gpu, "gpus", gpu)
        add("gpus/%s/json" % gpu, "gpus", gpu, "--json")
    for gpu in ("in/model_fit.json", "in/operator_fit.json"):
        add("gpus/%s" % short(gpu), "gpus", "./" + gpu)
        add("gpus/%s/json" % short(gpu), "gpus", "./" + gpu, "--json")
    add("handlers", "handlers")
    add("handlers/json", "handlers", "--json")
    for command in ("predict report profile calibrate evaluate sweep diff explain gpus handlers measure attribute compare simulate serve").split():
        add("help/%s" % command, command, "--help")
        add("help-all/%s" % command, command, "--help-all")
        add("man/%s" % command, "{python}", "-c", SHOW, "{build}/tools/man/adept-%s.1" % command, needs=["build"])
        add("help/help %s" % command, "help", command)
    for words in ("--help", "help", "--version", "predict --version", "attribute record --help", "attribute fit --help",
                  "attribute report --help", "attribute --slurm --help",
                  "sweep --drive --help"):
        add("help/%s" % words, *words.split())
    for page in ("adept.1", "libadept.3"):
        add("man/%s" % page, "{python}", "-c", SHOW, "{build}/tools/man/" + page, needs=["build"])
    for name in ("adept.bash", "_adept"):
        add("completion/%s" % name, "{python}", "-c", SHOW, "{source}/tools/packaging/completion/" + name, needs=["source"])
    for words in ("p", "gp", "--", "predict --p", "predict --mode t", "diff --sort p", "profile --by =", "predict --precision fp",
                  "sweep --vary=", "gpus h1"):
        add("completion/bash %s" % words, "{python}", "-c", COMPLETE, "{adept}", "{source}/tools/packaging/completion/adept.bash",
            *words.split(), needs=["source"])
    for name, words in GOLDEN.items():
        add("torch/%s" % name, "profile", "in/golden/%s.pt" % name, "--json", *words.split(), needs=["torch"], slow=True)
    add("torch/unsupported", "profile", "in/unsupported.pt", needs=["torch"], slow=True)
    add("torch/allowed", "predict", "in/unsupported.pt", "--gpu", "a100", "--allow-unsupported", needs=["torch"], slow=True)
    for name in sorted(os.listdir(os.path.join(TOP, "tests/golden/export"))):
        if name.endswith(".json"):
            add("export/%s" % name, "profile", "in/export/%s.pt2" % name[:-5], "--json", "--by", "op")
    for name in ("flat", "rooted"):
        add("export/%s/predict" % name, "predict", "in/hostile/export_file/" + name, "--gpu", "a100", "--json")


SHOW = "import sys; sys.stdout.write(open(sys.argv[1], encoding='utf-8').read())"
COMPLETE = """if True:
    import os, sys
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-c", 'adept=$1; . "$2" || exit 1; shift 2; COMP_WORDS=("$adept" "$@"); '
                       'COMP_CWORD=$#; _adept; echo "${COMPREPLY[*]}"', "x"] + sys.argv[1:])"""


def fits(add, lines):
    quick = "--suggest 0 --leave-out none"
    for i, words in enumerate("""
            |--leave-out gpus --max-generations 200 --suggest 0|--leave-out k-fold:2 --leave-out lab --json|--leave-out model --suggest 2
            |--granularity model --max-generations 50 --leave-out gpus|--granularity model --max-generations 50 --leave-out gpus --json
            |--granularity model --stage S7 --max-generations 20 Q|--granularity model --compare-saturations --max-generations 20 Q
            |--granularity model --fix c_power=1.25 --weight-power 0 --strategy rand1bin --bounds clip --no-polish
             --saturation tanh --free overlap --prior 0.5 --population 5 --tol 0.1 Q
            |--granularity model --scalar mlp_mem=mem@model:ml* --max-generations 30 Q
            |--granularity model --scalar mlp_mem=mem@model:ml* --without mlp_mem --max-generations 30 Q
            |--restarts 3 --seed 5 Q|--exclude-suspect --threads 1 Q|--from-sheet --by lab,gpus Q|--fix overlap=0.5 --json Q|--plot fit.svg Q
            """.replace("Q", quick).strip().strip("|").split("|")):
        add("calibrate/rows/%02d" % i, "calibrate", "in/rows.csv", "--models", "in", "--gpu", "a100", "-o", "mine.json", *words.split(),
            slow=True)
    lines("calibrate/loop", ["calibrate in/rows.csv --models in --gpu a100 -o mine.json %s" % quick,
                             "predict in/mlp.profile.json --gpu ./mine.json --json",
                             "evaluate in/rows.csv --models in --gpu ./mine.json", "gpus ./mine.json",
                             "explain in/mlp.profile.json --gpu ./mine.json",
                             "calibrate in/rows.csv --models in --gpu ./mine.json --prior 10 -o again.json %s" % quick], slow=True)
    lines("calibrate/loop_model", ["calibrate in/rows.csv --models in --gpu a100 --granularity model -o mine.json --max-generations 60 %s" % quick,
                                   "predict in/mlp.profile.json --gpu ./mine.json --gpus 4 --json",
                                   "predict in/mlp.profile.json --gpu ./mine.json --power-limit 250",
                                   "evaluate in/rows.csv --models in --gpu ./mine.json --json",
                                   "report in/mlp.profile.json --gpu ./mine.json -o report.html"], slow=True)
    kernels = "--kernels in/kernels.csv --gpu v100-pcie-32gb"
    lines("calibrate/kernels", ["calibrate %s -o k.json" % kernels, "predict in/mlp.profile.json --gpu ./k.json --json",
                                "calibrate %s -o k2.json --json" % kernels,
                                "calibrate in/steps.csv --models in %s -o s.json %s" % (kernels, quick),
                                "calibrate in/steps.csv --models in --granularity operator --gpu ./k.json -o s3.json %s" % quick,
                                "calibrate in/steps.csv --models in --granularity operator --gpu v100-pcie-32gb "
                                "--tiles gemm=128x128,64x64 -o t.json %s" % quick], slow=True)
    lines("calibrate/collectives", ["calibrate --collectives in/nccl.csv --gpu rtx4090 -o mine.json",
                                    "predict in/mlp.profile.json --gpu ./mine.json --gpus 8 --json",
                                    "gpus ./mine.json", "calibrate --collectives in/nccl.csv --gpu rtx4090 --json",
                                    "calibrate in/several.csv --models in --collectives in/nccl.csv --gpu rtx4090 -o steps.json "
                                    + quick], slow=True)
    shared = "calibrate in/shared.csv --models in --gpu auto --kernels in/a10.csv --kernels in/some.csv"
    lines("calibrate/shared", [shared + " --suggest 0 -o s.json", "gpus h200 --shared s.json --json", "gpus b200 --shared s.json",
                               shared + " %s --json -o t.json" % quick,
                               "calibrate --gpu auto --kernels in/a10.csv --kernels in/some.csv -o k.json"], slow=True)
    lines("calibrate/stdout", ["calibrate in/rows.csv --models in --gpu a100 -o - %s" % quick,
                               "calibrate in/rows.csv --models in --gpu a100 %s" % quick], slow=True)
    for name, gpu in (("h200", "h200-sxm-141gb"), ("cpu", "cpu-xeon-avx512-1core"), ("mixed", "a100"), ("mixed_fp32", "in/model_fit.json")):
        for words in ("", "--json", "--by model,batch_size", "--by model+precision --exclude-suspect", "--plot errors.svg"):
            add("evaluate/%s/%s" % (name, words), "evaluate", "in/%s.csv" % name, "--gpu", gpu, *words.split(), slow=True)
    add("evaluate/other", "evaluate", "in/h200.csv", "--gpu", "h100")
    add("evaluate/lacks", "evaluate", "in/mixed.csv", "--gpu", "in/model_fit.json")
    add("calibrate/h200_kernels", "calibrate", "--kernels", "in/h200_kernels.csv", "--gpu", "h200", "-o", "mine.json", slow=True)
    for name, words in (("operator", ""), ("model", "--granularity model --max-generations 20 --json")):
        add("calibrate/mixed/" + name, "calibrate", "in/mixed.csv", "--gpu", "a100", "-o", "mine.json",
            "--restarts" if name == "operator" else "--seed", "1", *(words + " " + quick).split(), slow=True)


def measuring(add, lines):
    for words in ("", "--json", "--raw --json", "--csv rows.csv", "--csv rows.csv --format ea2p --row project=p,package=q",
                  "--plot power.svg", "--steps-from-marks steps.csv --row model=resnet50,gpu=a100 --skip-steps 1",
                  "--idle in/idle.json --json", "-o report.txt", "--devices cpu --json",
                  "--steps-from-marks steps.csv --row model=resnet50,batch_size=32,gpu=a100"):
        add("measure/read/%s" % words, "measure", "--read", "in/samples", *words.split())
    add("measure/read/cut", "measure", "--read", "in/samples.cut", "--json")
    add("measure/list", "measure", "--sysroot", "in/root", "--list")
    add("measure/list/json", "measure", "--sysroot", "in/root", "--list", "--json", squash=True)
    add("measure/list/nothing", "measure", "--sysroot", "in/nowhere", "--list")
    add("measure/list/dimms", "measure", "--sysroot", "in/root", "--dram-dimms", "8x64GB DDR4", "--list", "--json", squash=True)
    add("measure/merge", "measure", "--merge", "in/m.json", "in/m2.json")
    add("measure/merge/json", "measure", "--merge", "--json", "in/m.json", "in/m2.json")
    add("measure/run", "measure", "--sysroot", "in/root", "-o", "/dev/null", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    add("measure/run/json", "measure", "--sysroot", "in/root", "--json", "-o", "r.json", "--", "sleep", "0.1", squash=True)
    add("measure/run/devices", "measure", "--sysroot", "in/root", "--devices", "node", "--json", "-o", "r.json", "--", "sleep", "0.1", squash=True)
    add("attribute/list", "attribute", "record", "--sysroot", "in/root", "--list", "--source", "proc")
    for words in ("", "--json", "-o model.json", "--features cpu_time_s --json",
                  "--replicates 0 --features cpu_time_s --standardize z --sign free --shrinkage keep --lag -0.5 --lambda2 1",
                  "--interval 5s", "--seed 3 --replicates 20 --json"):
        add("attribute/fit/%s" % words, "attribute", "fit", "in/node.rec", *words.split(), needs=["recordings"], slow=True)
    add("attribute/fit/two", "attribute", "fit", "in/node.rec", "in/other.rec", needs=["recordings"], slow=True)
    add("attribute/fit/short", "attribute", "fit", "in/short.rec", needs=["recordings"])
    lines("attribute/model", ["attribute fit in/node.rec -o model.json --replicates 50"] + [
        "attribute report in/node.rec --model model.json " + words for words in (
        "", "--json --top 12", "--by user --static cpu-share", "--by command --static equal --csv", "--closure scale --json",
            "--svg power.svg --step 10s", "--by cgroup",
        "--only proc-1 --top 3", "--by job --json")], needs=["recordings"], slow=True)
    add("attribute/report", "attribute", "report", "in/node.rec", "--top", "3", needs=["recordings"], slow=True)
    add("attribute/report/n1", "attribute", "report", "in/n1.adept")
    two = "attribute --slurm in/n1.adept in/n2.adept --sacct in/jobs.txt"
    for words in ("", "--json", "--csv", "--gpu-memory 40GB --carbon 500 --pue 2 --json", "--carbon FR", "--by user --csv", "--by account",
                  "--by partition --json", "--by state --csv",
                  "--by node", "--gap proportional --json", "--gap 20 --json", "--gap-factor 1.19", "--cpu-base capacity --json",
                  "--cpu-idle separate --idle in/idle.json",
                  "--calibrate-rows rows.csv --models in"):
        add("attribute/slurm/%s" % words, *two.split(), *words.split())
    add("attribute/slurm/listpids", "attribute", "--slurm", "in/n1.adept", "--listpids", "in/listpids", "--json")
    add("attribute/slurm/jobcomp", "attribute", "--slurm", "in/n1.adept", "--jobcomp", "in/jobcomp", "--json")
    for words in ("p.json m.json", "m.json p.json --json", "m.json m2.json", "m.json m2.json --json --only energy", "p.json q.json",
                  "p.json q.json --within 2", "p.json q.json --within 90",
                  "p.json m.json --only time --within 10", "q.json m2.json --region step --json"):
        add("compare/%s" % words, "compare", *["in/" + word if word.endswith(".json") else word for word in words.split()])
    lines("compare/predictions", ["predict resnet50 --gpu a100 --json", "compare in/p.json in/q.json --json"])


def simulating(add, lines):
    every = "fcfs,easy,pollux,themis,chronos,zeus,hades,charon,aurachronos,min-energy,thrift"
    small = "simulate in/cluster.json in/jobs.json --policy "
    for words in (every + " --seeds 2", every + " --seeds 2 --cap 2kW --json --jobs-csv jobs.csv --power-csv power.csv",
                  "easy,thrift --seeds 3 --recommend", "pollux,thrift --seeds 2 --html page.html",
                  "zeus,themis --rigid", "zeus,themis --noise 10% --seed 4", "zeus,themis --reality-noise 5%",
                  "zeus,themis --interference 10%", "zeus,themis --no-idle", "zeus,themis --tick 0",
                  "zeus,themis --horizon 30min", "zeus,hades --preempt-loss checkpoint:60 --cap 2kW",
                  "hades --preempt-loss iteration --most-preemptions 1", "themis --age-weight 0 --fairness printed",
                  "pollux --placement edp --ordering sjf --limits yes", "zeus --limits no --json", "aurachronos --risk 0.9 --json",
                  "thrift --slowdown 50% --json", "charon --cap 2kW --cap-margin 10%",
                  "easy -o report.txt", "easy,zeus --json --shard 1/2 --seeds 2"):
        add("simulate/small/%s" % words, *(small + words).split(), slow=True)
    lines("simulate/merge", [small + "easy,zeus --seeds 2 --json --shard 1/2 -o 1.json",
                             small + "easy,zeus --seeds 2 --json --shard 2/2 -o 2.json", "simulate --merge 1.json 2.json",
                             "simulate --merge --json 1.json 2.json -o all.json", "compare all.json all.json --policy easy,zeus",
                             "compare all.json all.json --goal in/goal.json",
                             small + "easy,zeus --seeds 2 --baseline base.json", "compare base.json all.json --policy easy --json"],
          slow=True)
    trace = "simulate in/cluster.json in/trace.csv --templates in/jobs.json --policy "
    for words in ("zeus,thrift", "zeus,thrift --json --windows 4", "zeus,thrift --cap 1.5kW", "charon --cap 1100", "easy --malleable",
                  "easy --drop-impossible --jobs-csv jobs.csv"):
        add("simulate/trace/%s" % words, *(trace + words).split(), slow=True)
    for name in ("adaptdl", "gavel", "sacct", "philly"):
        add("simulate/trace/%s" % name, "simulate", "in/cluster.json", "in/trace_%s" % name, "--templates", "in/jobs.json", "--policy",
            "easy", "--json")
    add("simulate/trace/gz", "simulate", "in/cluster.json", "in/trace.csv.gz", "--templates", "in/jobs.json", "--policy", "easy", slow=True)
    add("simulate/table", "simulate", "in/cluster.json", "in/table_trace.csv", "--templates", "in/table.json", "--policy", "fcfs", "--json")
    add("simulate/thesis", "simulate", "{source}/data/clusters/thesis.json", "{source}/data/clusters/thesis_jobs.json", "--policy",
        "easy,zeus,thrift", "--seeds", "2", "--json", slow=True, needs=["source"])


def hostile(add):
    asked = {
        "profile": ["predict F --gpu a100", "profile F --json"], "library": ["profile F --json"],
        "hwprofile": ["gpus ./F", "predict in/mlp.profile.json --gpu ./F --json"],
        "csv": ["evaluate F --models in --gpu a100", "calibrate --kernels F --gpu a100 -o k.json",
                "calibrate --collectives F --gpu a100 -o k.json"],
        "json": ["predict F --gpu a100", "compare F F", "simulate F F --policy easy"], "export_file": ["profile F"],
        "torchscript_file": ["profile F"],
        "activity": ["attribute report F", "attribute --slurm F --sacct in/jobs.txt"],
        "attribution": ["attribute report in/node.rec --model F"],
        "batch_jobs": ["attribute --slurm in/n1.adept --sacct F", "attribute --slurm in/n1.adept --jobcomp F",
                       "attribute --slurm in/n1.adept --listpids F"],
        "checkpoint": ["calibrate in/rows.csv --models in --gpu a100 -o x.json --resume F"],
        "result": ["compare F in/m.json", "measure --merge F in/m.json", "measure --idle F -- true"],
        "pickle": ["profile F"], "meter": ["measure --read F"],
    }
    for kind, commands in asked.items():
        for file in corpus_files(kind):
            for command in commands:
                torch = kind == "torchscript_file"
                add("hostile/%s/%s/%s" % (kind, os.path.basename(file), command), *command.replace("F", file).split(),
                    needs=["torch"] if torch else ["recordings"] if "node.rec" in command else [], slow=torch, squash="-- true" in command)
    for file in corpus_files("export_program"):
        add("hostile/export_program/%s" % os.path.basename(file), "profile", file.replace("hostile/", "hostile_pt2/") + ".pt2", "--json")
    for file in corpus_files("export_pickle"):
        add("hostile/export_pickle/%s" % os.path.basename(file), "profile", file.replace("hostile/", "hostile_pt2/") + ".pt2", "--json")
    for file in corpus_files("simulate"):
        add("hostile/simulate/%s" % os.path.basename(file), "simulate", file.replace("hostile/", "hostile_cut/"), "in/jobs.json",
            "--policy", "easy")
        add("hostile/simulate/%s/jobs" % os.path.basename(file), "simulate", "in/cluster.json", file.replace("hostile/", "hostile_cut/"),
            "--policy", "easy")
        add("hostile/simulate/%s/trace" % os.path.basename(file), "simulate", "in/cluster.json", file.replace("hostile/", "hostile_cut/"),
            "--templates", "in/jobs.json", "--policy", "easy")
    for kind, before, option in (("gpu_name", "predict in/mlp.profile.json", "--gpu="),
                                 ("vary", "sweep in/mlp.profile.json --gpu a100", "--vary=")):
        for file in corpus_files(kind):
            with open(os.path.join(CORPUS, kind, os.path.basename(file)), "rb") as text:
                words = text.read().decode("utf-8", "surrogateescape")
            if "\0" not in words and len(words) < 100000:
                add("hostile/%s/%s" % (kind, os.path.basename(file)), *before.split(), option + words)
    for i in range(40):
        add("hostile/mutant/profile/%02d" % i, "predict", "in/mutants/%02d.profile.json" % i, "--gpu", "a100")
    for i in range(20):
        add("hostile/mutant/hwprofile/%02d" % i, "predict", "in/mlp.profile.json", "--gpu", "./in/mutants/%02d.gpu.json" % i)
        add("hostile/mutant/rows/%02d" % i, "evaluate", "in/mutants/%02d.csv" % i, "--models", "in", "--gpu", "a100")
        add("hostile/mutant/cluster/%02d" % i, "simulate", "in/mutants/%02d.cluster.json" % i, "in/jobs.json", "--policy", "easy")
    for i in range(10):
        add("hostile/mutant/recording/%02d" % i, "attribute", "report", "in/mutants/%02d.adept" % i)
        add("hostile/mutant/samples/%02d" % i, "measure", "--read", "in/mutants/%02d.samples" % i)


def serving():
    requests = [("GET" + url, "GET", url, None) for url in ("/v1/health", "/v1/workloads", "/v1/gpus", "/openapi.json", "/", "/nowhere",
                                                            "/v1/gpus/a100", "/v1/gpus/mine", "/v1/gpus/h1000", "/v1/predict")]
    keys = {"workload": "mlp", "gpu": "a100"}
    for i, more in enumerate(({}, {"compact": True}, {"gpus": 4}, {"gpus": 8, "nodes": 2, "internode_bytes_per_s": 25e9,
                                                                   "allreduce": "tree"}, {"power_limit_w": 250}, {"clock_hz": 1.2e9},
                              {"batch_size": 7}, {"granularity": "model"}, {"granularity": "x"}, {"gpu": "h1000"}, {"workload": "nosuch"},
                              {"workload": "lengths", "seq_length": 8, "batch_size": 2},
                              {"host": "torch1"}, {"host_launch_s": 2e-5, "host_step_s": 1e-3, "host_sample_s": 1e-6},
                              {"overlap": "none", "gpus": 2}, {"bucket_bytes": 1e6, "gpus": 2},
                              {"link": "bridge", "gpus": 2}, {"gpu": "mi300x"}, {"gpu": "cpu-xeon-avx512-1core"}, {"power_limit_w": 1},
                              {"gpus": 0}, {"gpus": "x"}, {"nosuch": 1}, {"compact": None},
                              {"requests": [{"gpus": 1}, {"gpus": 4, "gpu": "h1000"}, {"gpus": 2, "compact": True}]}, {"requests": []},
                              {"compact": True, "requests": [{"gpus": n} for n in range(1, 30)]},
                              {"precision": "bf16"}, {"mode": "infer"}, {"assume": ["fraction=0.5"]}, {"internode_latency_s": 1e-5})):
        requests.append(("predict/%02d" % i, "POST", "/v1/predict", json.dumps({**keys, **more}).encode()))
    options = [{"gpu": "a100", "gpus": n} for n in (1, 2, 4, 8)] + [{"gpu": "t4", "power_limit_w": 60}]
    for i, goal in enumerate(({}, {"objective": "energy"}, {"objective": "edp", "samples": 1e6},
                              {"samples": 1e6, "deadline_s": 100, "power_budget_w": 500}, {"steps": 10, "energy_budget_j": 1},
                              {"power_budget_w": 1}, {"objective": "x"}, {"ignore_memory": True})):
        requests.append(("choose/%02d" % i, "POST", "/v1/choose", json.dumps({"workload": "mlp", "goal": goal,
                                                                              "options": options}).encode()))
    folder = os.path.join(CORPUS, "serve")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            text = file.read()
        first, _, rest = text.partition(b"\n")
        words = first.split(b" ")
        if len(words) == 2 and words[0] in (b"GET", b"POST", b"PUT", b"DELETE") and words[1].startswith(b"/"):
            requests.append(("corpus/" + name, words[0].decode(), words[1].decode(), rest if words[0] != b"GET" else None))
        else:
            requests.append(("corpus/" + name, "POST", "/v1/predict", text))
    requests.append(("GET/metrics", "GET", "/metrics", None))
    return Served("serve", "serve --socket s --gpu in/model_fit.json in/mlp.profile.json in/lengths.profile.json".split(), requests)


def embedding(add):
    needs = ["library", "source"]
    add("library/symbols", "{python}", "-c", "import subprocess, sys; "
        "print('\\n'.join(line.split(None, 1)[1] for line in subprocess.run(['nm', '-D', '--defined-only', sys.argv[1]], "
        "stdout=subprocess.PIPE, check=True).stdout.decode().split('\\n') if line))", "{library}", needs=needs)
    add("library/client", "{build}/tests/embed/embed_client", "in/mlp.profile.json", needs=needs)
    add("library/layout", "{build}/tests/embed/embed_layout", needs=needs)
    for name in ("estimates", "errors", "texts", "choices", "workloads", "gpus"):
        add("library/python/" + name, "{python}", "{calls}", name, "in/mlp.profile.json", "in/lengths.profile.json",
            needs=needs)
    for words in ("predict resnet50 --gpu a100 --json", "--version"):
        add("library/module/" + words, "{python}", "-m", "adept", *words.split(), needs=needs)


# ---- what is read ----

def make_inputs(folder, program):
    """All inputs, the same for both programs: by this tree's files and, where it has been built, by make_recording of its build tree."""
    def put(name, data):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())

    def copy(name, source):
        with open(os.path.join(TOP, source), "rb") as file:
            put(name, file.read())

    for name in ("mlp.profile.json", "lengths.profile.json", "unsupported.pt"):
        copy(name, "tests/cli/data/" + name)
    for name in ("resnet50", "neumf", "gpt2"):
        copy(name + ".pt", "data/models/%s.pt" % name)
    copy("model_fit.json", "tests/fuzz/corpus/hwprofile/fitted")
    copy("operator_fit.json", "tests/fuzz/corpus/hwprofile/operator_tiles")
    shutil.copytree(CORPUS, os.path.join(folder, "hostile"))
    shutil.copytree(os.path.join(TOP, "tests/golden/models"), os.path.join(folder, "golden"))
    for name in os.listdir(os.path.join(CORPUS, "simulate")):  # whose first letter says what it is
        with open(os.path.join(CORPUS, "simulate", name), "rb") as file:
            put("hostile_cut/simulate/" + name, file.read()[1:])
    exported(folder, put)
    measured(put)
    for name, source, without in (("h200", "h200-sxm-141gb.csv", "models/"), ("cpu", "cpu-xeon-avx512-1core.csv", "models/"),
                                  ("h200_kernels", "h200-sxm-141gb/kernels.csv", "fp8")):
        with open(os.path.join(TOP, "data/measurements", source), encoding="utf-8") as file:
            put(name + ".csv", "".join(line for line in file if without not in line))
    clusters(put)
    sensors(put)
    recordings(folder, program)
    mutants(folder, put)


def exported(folder, put):
    """.pt2 files of programs, and of stores of weights"""
    def archive(name, entries):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with zipfile.ZipFile(path, "w") as out:
            for entry, data in entries:
                out.writestr(zipfile.ZipInfo(entry), data)

    with open(os.path.join(TOP, "tests/golden/export/basic.json"), "rb") as file:
        basic = file.read()
    golden = os.path.join(TOP, "tests/golden/export")
    for source, to in ((golden, "export/%s.pt2"), (os.path.join(CORPUS, "export_program"), "hostile_pt2/export_program/%s.pt2")):
        for name in os.listdir(source):
            if source == golden and not name.endswith(".json"):
                continue
            with open(os.path.join(source, name), "rb") as file:
                archive(to % name.replace(".json", ""), [("serialized_exported_program.json", file.read()), ("version", "8.2")])
    for name in os.listdir(os.path.join(CORPUS, "export_pickle")):
        with open(os.path.join(CORPUS, "export_pickle", name), "rb") as file:
            data = file.read()
        put("hostile_pt2/weights", b"")
        with zipfile.ZipFile(os.path.join(folder, "hostile_pt2/weights"), "w") as out:
            out.writestr(zipfile.ZipInfo("archive/data.pkl"), data)
        with open(os.path.join(folder, "hostile_pt2/weights"), "rb") as file:
            archive("hostile_pt2/export_pickle/%s.pt2" % name, [("serialized_exported_program.json", basic),
                                                                ("serialized_state_dict.pt", file.read()), ("version", "8.2")])


def measured(put):
    """Rows of steps, kernels and all-reduces, invented: streams at 80 % of the bandwidth, products at 70 % of the peak, 20 us of overhead."""
    put("rows.csv", "model,gpus,step_time_s,avg_power_w,lab\nmlp,1,0.0021,300,x\nmlp,2,0.0024,560,x\nmlp,4,0.0029,1010,y\nmlp,8,0.0030,2000,y\n")
    put("steps.csv", "model,batch_size,step_time_s,avg_power_w\nmlp,,0.00031,95\nmlp,,0.00032,97\n")
    put("several.csv", "model,step_time_s,gpus,overlap\nmlp,0.00031,1,\nmlp,0.00032,2,none\n")
    put("shared.csv", "model,gpu,batch_size,step_time_s\n" + "".join("mlp,%s,256,%s\n" % row for row in (
        ("a10", 0.0032), ("a100", 0.0021), ("h100-sxm-80gb", 0.0011), ("l40s", 0.0018), ("mi210", 0.0024))))
    put("mixed.csv", "model,input,batch_size,gpus,precision,mode,optimizer,grad_accum,attention,"
        "memory_format,optimizer_impl,execution,power_limit_w,step_time_s,avg_power_w,lab\n"
        "resnet50,,64,1,fp32,train,adamw,1,,nchw,foreach,eager,,0.19,290,a\nresnet50,,64,4,bf16,train,sgd,2,,nhwc,fused,graphs,300,0.12,1000,a\n"
        "gpt2,i64:Bx512,4,1,bf16,train,adamw,1,fused,,,compile,,0.09,,b\n"
        "gpt2,i64:Bx512,4,1,fp32,infer,none,1,eager,,,,250,,210,b\nneumf,,1024,2,fp32,fwbw,,1,,,,,,0.004,120,b\n"
        "vit_b_16,,32,1,tf32,train,adam,1,,,forloop,,,0.07,330,a\n")
    put("mixed_fp32.csv", "model,batch_size,gpus,power_limit_w,step_time_s,avg_power_w\nresnet50,16,1,,1.5,70\n"
        "resnet50,16,2,60,1.1,\nneumf,512,1,,0.01,50\nvit_b_16,4,1,,0.6,72\n")
    streams = lambda bytes_per_s: [(20000 + 3000 * i, 0.02 + 1e3 * 12 * (20000 + 3000 * i) * 512 / (0.8 * bytes_per_s)) for i in range(120)]
    kernels = ["add,%d,,,,512,%.6f" % row for row in streams(900e9)]
    for i in range(150):
        m, n, k = 2048 + 256 * (i % 10), 2048 + 256 * (i % 6), 1024 + 512 * (i % 5)
        kernels.append("linear,1,%d,%d,%d,,%.6f" % (m, k, n, 0.02 + 1e3 * 2 * m * n * k / (0.7 * 14e12)))
    put("kernels.csv", "\n".join(["op,B,M,N,K,H,latency_ms"] + kernels) + "\n")
    put("a10.csv", "\n".join(["op,B,H,latency_ms"] + ["add,%d,512,%.6f" % row for row in streams(600e9)]) + "\n")
    put("some.csv", "\n".join(["op,B,H,latency_ms,gpu"] + ["add,%d,512,%.6f,l40s" % row for row in streams(864e9)]) + "\n")
    rows = []
    for i in range(16, 30):  # 8 GPUs at 10 GB/s and 5 us a hop, by each protocol of NCCL
        link = 1e6 * 1.75 * 2 ** i / 10e9
        rows.append("all_reduce,8,%d,%.3f,-" % (2 ** i, min(23 * 5 + 2 * link, 2.3 * 23 * 5 + link * 16 / 15, 4 * 23 * 5 + link)))
    put("nccl.csv", "\n".join(["op,gpus,size_bytes,time_us,busbw"] + rows + ["all_gather,8,1024,9,-"]) + "\n")


def clusters(put):
    put("cluster.json", json.dumps({"schema_version": 1, "name": "small", "nodes": [
        {"name": "a", "gpu": "a100-sxm-40gb", "gpus": 4, "host_idle_w": 150, "host_busy_w": 100},
        {"name": "v", "gpu": "v100-sxm2-32gb", "gpus": 4, "count": 2, "host_idle_w": 150, "host_busy_w": 100}],
                                    "gpus": {"v100-sxm2-32gb": {"idle_w": 43}}}, indent=1))
    template = {"model": "in/mlp.profile.json", "gpus": [1, 2, 4], "batches": [64, 256], "limits": "auto"}
    put("jobs.json", json.dumps({"schema_version": 1, "name": "small", "templates": [
        {"name": "short", **template, "samples_for_s": {"seconds": 120, "gpu": "a100-sxm-40gb"}},
        {"name": "long", **template, "weight": 0.5, "samples_for_s": {"seconds": 900, "gpu": "a100-sxm-40gb"}}],
        "arrivals": {"rate_per_s": 0.02, "horizon_s": 7200}, "users": 3, "urgent": {"share": 0.2, "deadline_factor": 3},
                                 "rigid": {"gpus": 2, "batch": 64}}, indent=1).replace("in/", ""))
    trace = ["job_id,submit_s,user,template,samples,gpus"]
    trace += ["%d,%d,u%d,%s,%d,%d" % (job + 1, 100 + 97 * job, job % 3, "long" if job % 4 == 0 else "short", 5000000 + 100000 * job,
                                      (1, 2, 4)[job % 3]) for job in range(40)]
    put("trace.csv", "\n".join(trace) + "\n")
    put("trace.csv.gz", gzip.compress("\n".join(trace).encode() + b"\n", mtime=0))
    put("trace_adaptdl", "name,time,application,num_replicas,batch_size\nshort-0,259,short,2,64\nlong-1,300,long,1,64\n")
    put("trace_gavel", "job_type,steps,arrival_s,gpus\nshort,6959,0.5,2\nlong,100,9,1\n")
    put("trace_sacct", "JobID|User|Submit|Elapsed|ReqTRES\n"
        "1|ada|2026-01-01T00:00:00|00:10:00|gres/gpu=2\n2|bob|2026-01-01T00:05:00|01:00:00|gres/gpu=1\n")
    put("trace_philly", "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-03 05:11:16,600,2,1200,x\n2017-10-03 05:15:16,60,1,60,x\n")
    put("table.csv", "job_type,gpus,gpu,step_time_s\nmeasured,1,a100-sxm-40gb,0.5\nmeasured,2,a100-sxm-40gb,0.3\n")
    put("table.json", json.dumps({"schema_version": 1, "name": "table", "step_times": {"file": "table.csv", "power_share": 0.8,
                                                                                       "scaling": "linear"}}))
    put("table_trace.csv", "job_type,steps,arrival_s,gpus\nmeasured,100,0,1\nmeasured,50,3,2\n")
    put("goal.json", json.dumps({"schema_version": 1, "reference": "easy", "candidate": "zeus",
                                 "goals": [{"metric": "energy_j", "direction": "lower", "threshold_percent": 0}]}))


def sensors(put):
    """A tree of /sys, what measure keeps and prints, and accounts of Slurm"""
    for zone, name in (("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "dram"), ("intel-rapl:1", "package-1")):
        for file, text in (("name", name), ("max_energy_range_uj", "262143328850"), ("energy_uj", "%020d" % 1000000)):
            put("root/sys/class/powercap/%s/%s" % (zone, file), text + "\n")
    put("root/sys/class/hwmon/hwmon0/name", "power_meter\n")
    put("root/sys/class/hwmon/hwmon0/power1_average", "345000000\n")
    for file, text in (("type", "Battery"), ("status", "Discharging"), ("power_now", "12000000")):
        put("root/sys/class/power_supply/BAT0/" + file, text + "\n")
    sensor = {"device": "by hand", "source": "/sys/x", "origin": "measured", "accuracy": None, "refresh_s": 0.001, "resolution_j": 6.1e-05,
              "range_j": 0, "most_power_w": 2000, "package": None}
    kept = [{"host": "n1", "started": "2025-01-02T03:04:05Z", "command": ["python3", "train.py", "a \"b\""]},
            {"schema_version": 1, "kind": "samples", "period_s": 0.1, "begin_s": 100, "sensors": [
                {"name": "cpu-0", "component": "cpu", "by_counter": True, "counter_j": 5, **sensor},
                    {"name": "dram-0", "component": "dram", "by_counter": True, "counter_j": 0, **sensor},
                {"name": "node-0", "component": "node", "by_counter": False, "counter_j": None, **sensor}],
             "missing": [{"name": "nvml", "why": "no library", "help": "install it"}]}]
    for i in range(61):
        t = 100 + 0.1 * i
        kept += [[0, round(t, 6), round(6.5 * i + (i % 7) * 0.2, 6), None], [1, round(t + 0.001, 6), round(0.9 * i, 6), None],
                 [2, round(t + 0.002, 6), round(19.0 * i, 6), 190 + i % 5]]
        if i % 10 == 9:
            kept.append({"region": "step" if i > 20 else "load", "begin_s": round(t - 0.8, 6), "end_s": round(t - 0.1, 6)})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept + [{"end_s": 106.05}])
    put("samples", text)
    put("samples.cut", text[:3000])

    def prediction(name, time_s, power_w, energy_j, interval, **more):
        put(name, json.dumps({"schema_version": 1, "model": {"path": "m.pt"}, "gpu": {"name": "a100"},
                              "config": {"mode": "train", "precision": "fp32", "batch_size": 8, "gpus": 2},
                              "step_time_s": time_s, "power_avg_w": power_w, "energy_step_j": energy_j, "power_scope": "gpu",
                              "interval": interval, "warnings": [], **more}))

    def measurement(name, host, time_s, cpu_j, gpu_j):
        part = lambda mean, sd: {"mean": mean, "sd": sd, "interval95": [mean - sd, mean + sd]}
        put(name, json.dumps({
            "schema_version": 1, "kind": "measured", "host": host, "command": ["python3", "train.py"], "started": "2025-01-02T03:04:05Z",
            "begin_s": 1.5, "exit_status": 0, "time_s": time_s,
            "sensors": [{"name": name, "component": component, "origin": origin, "summed": True, "lost": None, "energy_j": 3} for name,
                        component, origin in (
                ("cpu-0", "cpu", "measured"), ("dram", "dram", "estimated"), ("gpu-0", "gpu", "measured"))],
            "total": {"energy_j": 500, "interval_j": [490, 510], "avg_power_w": 50},
            "by_component": {"cpu": {"energy_j": cpu_j, "interval_j": None, "avg_power_w": 10},
                             "gpu": {"energy_j": gpu_j, "interval_j": None, "avg_power_w": 40}},
            "regions": [{"name": "step", "count": 10, "time_s": {"mean": 0.2, "sd": 0.01, "least": 0.19, "most": 0.22, "total": 2,
                                                                 "interval95": [0.19, 0.21]},
                         "energy_j": part(60, 1), "avg_power_w": 300, "gpu": {"energy_j": part(50, 1), "avg_power_w": 250}}],
            "repeats": None, "missing": [], "warnings": ["the clock was changed"]}))

    prediction("p.json", 0.21, 240, 50.4, {"level": 0.8, "step_time_s": [0.18, 0.25], "power_avg_w": [251, 300]})
    prediction("q.json", 0.25, None, None, None)
    measurement("m.json", "n1", 3, 30, 120)
    measurement("m2.json", "n2", 4, None, 150)
    fit = {"alpha_j": 1, "beta_w": 20, "alpha_se_j": 0.1, "beta_se_w": 0.2, "rmse_j": 1, "r2": 1, "n": 5}
    put("idle.json", json.dumps({"schema_version": 1, "kind": "idle", "hosts": {"n1": {"cpu": fit, "dram": fit, "node": fit},
                                                                                "n2": {"node": fit}}}))
    put("jobs.txt", """\
JobID|JobIDRaw|User|Account|State|Partition|Start|End|ElapsedRaw|AllocTRES|NodeList|AdminComment
1|1|ada|lab|COMPLETED|cpu|1000|1020|20|cpu=4,node=2|n[1-2]|
2|2|bob|lab|CANCELLED by 0|cpu|1000|1020|20|cpu=1,node=1|n1|
4_1|5|ada|ml|COMPLETED|gpu|1000|1020|20|cpu=1,gres/gpu=1,node=1|n1|adept: partition=gpu gpu=a100-sxm-40gb gpus=1 batch=256 steps=1000 time_s=16 power_w=250 energy_j=5000 objective=time parameters=transferred profile=mlp
9|9|ada|ml|COMPLETED|gpu|5000|5020|20|cpu=1,gres/gpu=1,node=1|n1|
""")


    put("listpids", "PID      JOBID    STEPID   LOCALID GLOBALID\n"
        "10       1        batch    0       0\n11       2        batch    0       0\n13       5        batch    -       -\n")
    put("jobcomp", "".join("JobId=%d UserId=%s GroupId=root(0) Name=job.sh JobState=COMPLETED Partition=plain TimeLimit=UNLIMITED "
                           "StartTime=1970-01-01T00:16:40 "
                           "EndTime=1970-01-01T00:17:00 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/home/ada ReservationName= "
                           "Tres=cpu=1,mem=1000M,node=1,billing=1 "
                           "Account=root QOS=normal WcKey=\n" % row for row in ((1, "ada(1000)"), (2, "bob(1001)"), (5, "ada(1000)"))))


def recordings(folder, program):
    sys.path.insert(0, os.path.join(TOP, "tests/cli"))
    from activity_file import Recording
    nan = float("nan")
    n1 = Recording("n1", 1000, [("cpu-0", "cpu", 80), ("dram-0", "dram", 10), ("gpu-0", "gpu", 300), ("gpu-1", "gpu", 50),
                                ("node", "node", 528)],
                   [(10, 1000, 1, "python"), (11, 1001, 2, "python"), (12, 0, -1, "daemon"), (13, 1000, 5, "train"),
                    (14, 1002, 77, "\x1b[31m,\"x")])
    n2 = Recording("n2", 1000, [("pdu", "node", 100)], [(10, 1000, 1, "python"), (20, 1000, -1, "later")])
    for _ in range(20):
        n1.interval(3.0, [(0, 1.5, 3e9), (1, 0.5, 1e9), (2, 0.25, 0), (3, 0.5, 4e9), (4, 0.25, 0)], [(3, 2, 0.42, 20e9)])
        n2.interval(1.0, [(0, 1.0, nan)])
    n1.write(os.path.join(folder, "n1.adept"))
    n2.write(os.path.join(folder, "n2.adept"))
    if program.recordings:
        for name, words in (("node.rec", "12 600 0.01 1.5 3"), ("other.rec", "12 200 0.01 1.5 5"), ("short.rec", "5 20 0.01 0 4")):
            subprocess.run([program.recordings, os.path.join(folder, name)] + words.split(), stdout=subprocess.DEVNULL, check=True)


def mutants(folder, put):
    """Files with some bytes changed, cut or doubled; a seed each, so that they stay what they are."""
    def of(name, to, count):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        for i in range(count):
            draw, text = random.Random(1000 * count + i), bytearray(data)
            at = int(draw.random() * len(text))
            if i % 4 == 0:
                del text[at:]
            elif i % 4 == 1:
                text[at] = int(draw.random() * 256)
            elif i % 4 == 2:
                digits = [k for k, byte in enumerate(text) if chr(byte).isdigit()] or [at]
                text[digits[int(draw.random() * len(digits))]] = ord("9-e.0"[int(draw.random() * 5)])
            else:
                length = 1 + int(draw.random() * 40)
                text[at:at] = text[at:at + length]
            put(to % i, bytes(text))

    of("mlp.profile.json", "mutants/%02d.profile.json", 40)
    of("model_fit.json", "mutants/%02d.gpu.json", 20)
    of("mixed.csv", "mutants/%02d.csv", 20)
    of("cluster.json", "mutants/%02d.cluster.json", 20)
    of("n1.adept", "mutants/%02d.adept", 10)
    of("samples", "mutants/%02d.samples", 10)
