"""What libadept says through its Python binding, in full precision. usage: calls.py WHAT PROFILE LENGTHS, as run.py asks"""
import ctypes
import sys

import adept

WHAT, PROFILE, LENGTHS = sys.argv[1:4]
GPUS = ["a100-pcie-40gb", "v100-pcie-32gb", "h100", "t4", "mi300x", "cpu-xeon-avx512-1core", "./in/model_fit.json"]


def tell(name, call):
    try:
        print(name, "=", repr(call()))
    except Exception as error:  # pylint: disable=broad-except  # what is raised is the result
        print(name, "raises", type(error).__name__, error)


def fields(value):
    """All that a structure says, {name: value}"""
    found = {name: getattr(value, name) for name in sorted(dir(value)) if not name.startswith("_") and name not in ("owner", "reserved")}
    return {name: list(v) if isinstance(v, ctypes.Array) else v for name, v in found.items() if not callable(v)}


def estimates():
    workload = adept.Workload.open(PROFILE)
    for name in GPUS:
        oracle = adept.Oracle(workload, adept.Gpu.open(name))
        for how in ({}, {"gpus": 4}, {"gpus": 8, "nodes": 2, "internode_bytes_per_s": 25e9}, {"power_limit_w": 60}, {"power_limit_w": 250},
                    {"clock_hz": 1e9}, {"host": "torch1"},
                    {"gpus": 2, "bucket_bytes": 1e6}, {"host_launch_s": 2e-5, "host_step_s": 1e-3}):
            tell("%s %s" % (name, how), lambda oracle=oracle, how=how: fields(oracle.predict(**how)))
        tell(name + " best limits", lambda oracle=oracle: fields(oracle.best_limits()))


def errors():
    workload = adept.Workload.open(PROFILE)
    oracle = adept.Oracle(workload, adept.Gpu.open("a100"))
    tell("gpu", lambda: adept.Gpu.open("a1000"))
    tell("precision", lambda: adept.Workload.open(PROFILE, precision="bf17"))
    tell("text", lambda: adept.Workload.read("{}"))
    tell("nothing", lambda: adept.Workload.open("in/nowhere.json"))
    tell("torchscript", lambda: adept.Workload.open("in/neumf.pt"))
    for how in ({"gpus": -1}, {"power_limit_w": 1}, {"host": "torch9"}, {"nodes": 2}, {"clock_hz": 1}, {"gpu": 3}, {"bucket_bytes": -1}):
        tell("predict %s" % how, lambda how=how: oracle.predict(**how))
    tell("granularity", lambda: adept.Oracle(workload, adept.Gpu.open("a100"), "kernel"))
    tell("seq_length", lambda: adept.Workload.open(LENGTHS).at(seq_length=101))
    many = adept.predict_many([oracle.request(), oracle.request(gpus=-1)], strict=False)
    print([(e.status, e.step_time_s) for e in many])


def texts():
    workload = adept.Workload.open(PROFILE)
    print(adept.version_text(), adept.ABI_VERSION)
    print(workload.to_json())
    for name in GPUS[:3]:
        print(adept.Oracle(workload, adept.Gpu.open(name)).predict_json(gpus=2))


def choices():
    oracle = adept.Oracle(adept.Workload.open(PROFILE), adept.Gpu.open("v100-pcie-32gb"))
    made = adept.predict_many([oracle.request(gpus=g, power_limit_w=w) for g in (1, 2, 4) for w in range(100, 251, 10)])
    for objective in (adept.LEAST_TIME, adept.LEAST_ENERGY, adept.LEAST_EDP):
        for goal in ({}, {"samples": 1e5}, {"samples": 1e5, "power_budget_w": 300}, {"steps": 100, "deadline_s": 0.001},
                     {"power_budget_w": 1}):
            def chosen(objective=objective, goal=goal):
                choice = adept.choose(made, objective, **goal)
                return choice.best, choice.n_feasible, fields(choice.verdict), [v.violated for v in choice.verdicts]
            tell("%s %s" % (objective, goal), chosen)


def workloads():
    for path, ways in ((PROFILE, [{}, {"mode": "infer"}, {"precision": "bf16", "batch_size": 8}, {"optimizer": "sgd", "grad_accum": 2}]),
                       (LENGTHS, [{}, {"batch_size": 3, "seq_length": 33}, {"attention": "fused"}]),
                       ("resnet50", [{}, {"batch_size": 4, "execution": "compile"}])):
        for how in ways:
            def made(path=path, how=how):
                workload = adept.Workload.open(path, **how)
                return fields(workload.describe()), fields(adept.Oracle(workload, adept.Gpu.open("h100")).predict())
            tell("%s %s" % (path, how), made)


def gpus():
    for name in adept.Gpu.names():
        print(fields(adept.Gpu.open(name).describe()))


globals()[WHAT]()
