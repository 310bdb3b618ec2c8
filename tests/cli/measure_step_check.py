"""What test_measure_step.sh asks of the files that measure_step.py wrote, of its tensor parallel, and of its power meter on a fake NVML."""
import copy
import csv
import json
import math
import os
import sys
import time


def check_csv(path, expected_rows):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == expected_rows, "{} rows instead of {}".format(len(rows), expected_rows)
    for row in rows:
        assert row["model"] and row["mode"] in ("train", "fwbw", "infer") and row["precision"] == "fp32", row
        low, middle, high = (float(row[name]) for name in ("time_p10_s", "step_time_s", "time_p90_s"))
        assert 0 < float(row["time_min_s"]) <= low <= middle <= high < 100, row
        assert int(row["steps"]) >= 2 and int(row["batch_size"]) == 2 and int(row["gpus"]) in (1, 2), row
        assert (row["optimizer"] == "none") == (row["mode"] != "train"), row
        assert row["driver"] == row["board"] == "", row     # of GPUs
        # a CPU has no meter: nothing, not 0
        assert row["avg_power_w"] == row["power_scope"] == row["power_limit_w"] == "", row
    with open(path[:-len(".csv")] + ".json", encoding="utf-8") as file:
        facts = json.load(file)
    assert facts["schema_version"] == 1
    named = {name for run in facts["runs"] for name in run["traces"]}
    assert named == {row["model"] for row in rows}, named


def check_power(library):
    """The fake board: 250 W limit; its counter runs at 200 W where it has one; its readings are 120 W."""
    sys.path.insert(0, sys.argv[3])
    import power
    os.environ["ADEPT_NVML_LIBRARY"] = library
    meter = power.Meter("0000:01:00.0", idle_s=0.3)
    assert meter.addresses == ["0000:01:00.0"]
    assert meter.why_no_power is None and meter.limit_w == 250 and meter.driver == "1.2.3" and meter.board == "0000:01:00.0", vars(meter)
    expected_w = {"energy counter": 200, "sampling": 120}[meter.method]
    meter.start()
    time.sleep(0.3)
    watts = meter.stop()
    assert math.isclose(watts, expected_w, rel_tol=0.05) and math.isclose(meter.idle_w, expected_w, rel_tol=0.05), (watts, meter.idle_w)
    print(meter.method)
    os.environ["ADEPT_NVML_LIBRARY"] = "libno-such-thing.so"
    meter = power.Meter("0000:01:00.0", idle_s=0)
    meter.start()
    assert meter.method == "none" and meter.stop() is meter.idle_w is None and "no-such-thing" in meter.why_no_power, vars(meter)


def losses(model, inputs, steps=3):
    """A step's loss with the weights of the step before."""
    import torch
    optimizer, found = torch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(steps):
        model.zero_grad()
        out = model(inputs)
        loss = (out if torch.is_tensor(out) else out[0]).double().pow(2).sum() / 1e3
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def check_split(ranks, tools):
    """Whole and divided models learn the same: of Llama, whose logits are split, and of BERT, whose are not. Its tied relative, too."""
    sys.path[:0] = [os.path.join(tools, "measure"), os.path.join(tools, "zoo")]
    import torch
    from models import bert, llama
    import tensor_parallel
    llamas = [llama.LlamaForCausalLM(llama.LlamaConfig(layers=2, hidden=16, heads=4, kv_heads=2, ffn=24, vocab=32, tied=tied, qkv_bias=tied)) for tied in (False, True)]
    small = bert.BertForSequenceClassification(bert.BertConfig(layers=2, hidden=16, heads=4, ffn=24, vocab=32, positions=8, embedding=16, dropout=0.0))
    for whole in llamas + [small]:
        torch.manual_seed(1)
        with torch.no_grad():
            for parameter in whole.parameters():
                parameter.data = torch.randn(parameter.shape) * 0.3
        part = tensor_parallel.divide(copy.deepcopy(whole), ranks.rank, ranks.size)
        inputs = torch.randint(0, 32, (3, 8))
        expected, got = losses(whole, inputs), torch.tensor(losses(part, inputs), dtype=torch.float64)
        if whole is not small:      # each rank has some of the logits
            torch.distributed.all_reduce(got)
        assert torch.allclose(got, torch.tensor(expected, dtype=torch.float64), rtol=1e-4), (got, expected)
        assert sum(p.numel() for p in part.parameters()) < 0.75 * sum(p.numel() for p in whole.parameters())
    try:
        tensor_parallel.divide(torch.nn.Linear(4, 4), ranks.rank, ranks.size)
    except RuntimeError as error:
        return str(error)


if __name__ == "__main__":
    if sys.argv[1] == "csv":
        check_csv(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "split":
        sys.path.insert(0, os.path.join(sys.argv[2], "measure"))
        from ranks import run
        assert "Llama and BERT" in run(2, "cpu", check_split, sys.argv[2])
    else:
        check_power(sys.argv[2])
