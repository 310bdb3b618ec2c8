#!/usr/bin/env python3
"""Models that adept builds of a config.json beside the same models as PyTorch exports them:

    python3 tools/zoo/check_configs.py --export DIR      writes DIR/NAME.pt2 and DIR/NAME/config.json (PyTorch 2.5 or later)
    python3 tools/zoo/check_configs.py --compare DIR     a table: products and bytes of both (ADEPT names the program)

The modules below are what transformers 4.57 runs, without its machinery: masks (a batch without padding), caches, hooks. Where
transformers itself is installed, its own classes are exported as well, as NAME.transformers.pt2, and compared.
"""
import argparse
import json
import os
import pathlib
import subprocess

LENGTH, BATCH = 256, 2
BASE = {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 640,
        "vocab_size": 1000, "max_position_embeddings": 512, "hidden_act": "silu", "tie_word_embeddings": False}
PLAIN = {**BASE, "num_key_value_heads": 8, "hidden_act": "gelu"}
CONFIGS = {
    "llama": BASE,
    "qwen2": BASE,
    "qwen3": {**BASE, "head_dim": 64},
    "gemma": {**BASE, "head_dim": 64, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True},
    "gemma2": {**BASE, "head_dim": 64, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True,
               "final_logit_softcapping": 30.0},
    "phi": {**PLAIN, "hidden_act": "gelu_new", "partial_rotary_factor": 0.5, "resid_pdrop": 0.0},
    "phi3": {**PLAIN, "hidden_act": "silu"},
    "nemotron": {**BASE, "hidden_act": "relu2", "partial_rotary_factor": 0.5},
    "gpt_neox": {**PLAIN, "rotary_pct": 0.25, "use_parallel_residual": True},
    "gpt2": {"n_layer": 2, "n_embd": 256, "n_head": 8, "n_positions": 512, "vocab_size": 1000, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
             "attn_pdrop": 0.0},
    "opt": {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 8, "ffn_dim": 640, "vocab_size": 1000, "dropout": 0.0,
            "max_position_embeddings": 512, "word_embed_proj_dim": 256},
    "mpt": {"n_layers": 2, "d_model": 256, "n_heads": 8, "vocab_size": 1000, "max_seq_len": 512},
    "bert": {**PLAIN, "tie_word_embeddings": True, "type_vocab_size": 2, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
             "architectures": ["BertForMaskedLM"]},
    "vit": {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 640, "image_size": 64, "patch_size": 16,
            "num_labels": 10, "architectures": ["ViTForImageClassification"]},
    "deepseek_v3": {**BASE, "q_lora_rank": 96, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32,
                    "num_key_value_heads": 8, "n_routed_experts": 0},
}


def modules():
    import math
    import torch
    import torch.nn.functional as F
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, width, plus_one=False):
            super().__init__()
            self.weight, self.plus_one = nn.Parameter(torch.zeros(width)), plus_one

        def forward(self, x):
            y = x.float() if self.plus_one else x.to(torch.float32)
            y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
            return (y * (1.0 + self.weight.float())).type_as(x) if self.plus_one else self.weight * y.to(x.dtype)

    class LayerNorm1P(nn.LayerNorm):
        def forward(self, x):
            return F.layer_norm(x, self.normalized_shape, self.weight + 1, self.bias, self.eps)

    class Conv1D(nn.Module):
        def __init__(self, out, width):
            super().__init__()
            self.weight, self.bias, self.out = nn.Parameter(torch.zeros(width, out)), nn.Parameter(torch.zeros(out)), out

        def forward(self, x):
            return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(x.size()[:-1] + (self.out,))

    def act(name):
        def gelu_new(x):
            return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
        return {"silu": F.silu, "gelu": F.gelu, "gelu_new": gelu_new, "relu": F.relu, "relu2": lambda x: torch.square(F.relu(x)),
                "gelu_pytorch_tanh": lambda x: F.gelu(x, approximate="tanh")}[name]

    def half(x):
        return torch.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), dim=-1)

    def rotate(x, cos, sin, partial):
        n = cos.shape[-1]
        if not partial:
            return (x * cos) + (half(x) * sin)
        turned, rest = x[..., :n], x[..., n:]
        return torch.cat([(turned * cos) + (half(turned) * sin), rest], dim=-1)

    class Rotary(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.register_buffer("inv_freq", torch.zeros(width // 2), persistent=False)

        def forward(self, x, ids):
            inverse = self.inv_freq[None, :, None].float().expand(ids.shape[0], -1, 1)
            angles = (inverse.float() @ ids[:, None, :].float()).transpose(1, 2)
            both = torch.cat((angles, angles), dim=-1)
            return (both.cos() * 1.0).to(dtype=x.dtype), (both.sin() * 1.0).to(dtype=x.dtype)

    def weigh(q, k, v, causal=True):
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True) if k.shape[1] != q.shape[1] else \
            F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return y.transpose(1, 2).contiguous()

    class Attention(nn.Module):
        def __init__(self, kind, c):
            super().__init__()
            h, self.heads, self.kv = c["hidden"], c["heads"], c["kv"]
            self.width, self.kind, self.partial = c["width"], kind, kind in ("phi", "phi3", "nemotron", "gpt_neox")
            q, kv, qkv, out = self.heads * self.width, self.kv * self.width, kind in ("qwen2", "phi", "gpt_neox", "opt"), kind in ("phi", "gpt_neox", "opt")
            if kind == "gpt2":
                self.all, self.out = Conv1D(3 * h, h), Conv1D(h, h)
            elif kind in ("phi3", "gpt_neox", "mpt"):
                self.all, self.out = nn.Linear(h, q + 2 * kv, bias=qkv), nn.Linear(q, h, bias=out)
            else:
                self.q, self.k, self.v = (nn.Linear(h, n, bias=qkv) for n in (q, kv, kv))
                self.out = nn.Linear(q, h, bias=out)
            if kind == "qwen3":
                self.q_norm, self.k_norm = RMSNorm(self.width), RMSNorm(self.width)

        def forward(self, x, cos, sin, bias, mask):
            batch, length = x.shape[:2]
            if hasattr(self, "all"):
                parts = self.all(x).split([self.heads * self.width, self.kv * self.width, self.kv * self.width], dim=-1)
            else:
                parts = self.q(x), self.k(x), self.v(x)
            if self.kind == "opt":
                parts = parts[0] * self.width ** -0.5, parts[1], parts[2]
            q, k, v = (p.view(batch, length, -1, self.width) for p in parts)
            if self.kind == "qwen3":
                q, k = self.q_norm(q), self.k_norm(k)
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            if cos is not None:
                q, k = rotate(q, cos.unsqueeze(1), sin.unsqueeze(1), self.partial), rotate(k, cos.unsqueeze(1), sin.unsqueeze(1), self.partial)
            if bias is None:
                y = weigh(q, k, v)
            else:
                scores = (torch.matmul(q, k.transpose(-1, -2)) * self.width ** -0.5 + bias).masked_fill(mask, -3e38)
                y = torch.matmul(F.softmax(scores.float(), dim=-1).to(v.dtype), v).transpose(1, 2).contiguous()
            return self.out(y.reshape(batch, length, -1))

    class Latent(nn.Module):
        def __init__(self, c):
            super().__init__()
            h, self.heads, j = c["hidden"], c["heads"], c["json"]
            self.plain, self.rope, self.value, self.rank = j["qk_nope_head_dim"], j["qk_rope_head_dim"], j["v_head_dim"], j["kv_lora_rank"]
            self.q_a, self.q_norm = nn.Linear(h, j["q_lora_rank"], bias=False), RMSNorm(j["q_lora_rank"])
            self.q_b = nn.Linear(j["q_lora_rank"], self.heads * (self.plain + self.rope), bias=False)
            self.kv_a, self.kv_norm = nn.Linear(h, self.rank + self.rope, bias=False), RMSNorm(self.rank)
            self.kv_b = nn.Linear(self.rank, self.heads * (self.plain + self.value), bias=False)
            self.out = nn.Linear(self.heads * self.value, h, bias=False)

        def turn(self, x, cos, sin):
            b, n, s, d = x.shape
            return rotate(x.view(b, n, s, d // 2, 2).transpose(4, 3).reshape(b, n, s, d), cos.unsqueeze(1), sin.unsqueeze(1), False)

        def forward(self, x, cos, sin, bias, mask):
            batch, length = x.shape[:2]
            q = self.q_b(self.q_norm(self.q_a(x))).view(batch, length, self.heads, -1).transpose(1, 2)
            q_plain, q_rope = torch.split(q, [self.plain, self.rope], dim=-1)
            low, k_rope = torch.split(self.kv_a(x), [self.rank, self.rope], dim=-1)
            wide = self.kv_b(self.kv_norm(low)).view(batch, length, self.heads, -1).transpose(1, 2)
            k_plain, v = torch.split(wide, [self.plain, self.value], dim=-1)
            q_rope, k_rope = self.turn(q_rope, cos, sin), self.turn(k_rope.view(batch, 1, length, self.rope), cos, sin)
            k = torch.cat((k_plain, k_rope.expand(-1, self.heads, -1, -1)), dim=-1)
            y = weigh(torch.cat((q_plain, q_rope), dim=-1), k, v)
            return self.out(y.reshape(batch, length, -1))

    class MLP(nn.Module):
        def __init__(self, kind, c):
            super().__init__()
            h, f, self.kind, self.act = c["hidden"], c["ffn"], kind, act(c["act"])
            bias = kind in ("phi", "gpt_neox", "opt")
            if kind == "gpt2":
                self.up, self.down = Conv1D(f, h), Conv1D(h, f)
            else:
                self.up, self.down = nn.Linear(h, 2 * f if kind == "phi3" else f, bias=bias), nn.Linear(f, h, bias=bias)
            if kind in ("llama", "qwen2", "qwen3", "gemma", "gemma2", "deepseek_v3"):
                self.gate = nn.Linear(h, f, bias=False)

        def forward(self, x):
            if self.kind == "phi3":
                gate, up = self.up(x).chunk(2, dim=-1)
                return self.down(up * self.act(gate))
            return self.down(self.act(self.gate(x)) * self.up(x)) if hasattr(self, "gate") else self.down(self.act(self.up(x)))

    def norm(kind, width):
        if kind in ("gemma", "gemma2"):
            return RMSNorm(width, True)
        if kind in ("llama", "qwen2", "qwen3", "phi3", "deepseek_v3"):
            return RMSNorm(width)
        if kind == "nemotron":
            return LayerNorm1P(width)
        return nn.LayerNorm(width, bias=kind != "mpt")

    class Block(nn.Module):
        def __init__(self, kind, c):
            super().__init__()
            self.kind, self.attention, self.mlp = kind, Latent(c) if kind == "deepseek_v3" else Attention(kind, c), MLP(kind, c)
            self.norms = nn.ModuleList(norm(kind, c["hidden"]) for _ in range({"gemma2": 4, "phi": 1}.get(kind, 2)))

        def forward(self, x, *rest):
            read = self.norms[0](x)
            y = self.attention(read, *rest)
            if self.kind == "phi":
                return self.mlp(read) + y + x
            if self.kind == "gpt_neox":
                return self.mlp(self.norms[1](x)) + y + x
            if self.kind == "gemma2":
                x = x + self.norms[1](y)
                return x + self.norms[3](self.mlp(self.norms[2](x)))
            x = x + y
            return x + self.mlp(self.norms[1](x))

    class Decoder(nn.Module):
        def __init__(self, kind, j):
            super().__init__()
            heads = j.get("num_attention_heads", j.get("n_head", j.get("n_heads")))
            hidden = j.get("hidden_size", j.get("n_embd", j.get("d_model")))
            ffn = j.get("intermediate_size", j.get("ffn_dim", 4 * hidden))
            default = {"gpt2": "gelu_new", "opt": "relu", "mpt": "gelu"}.get(kind, "silu")
            c = {"hidden": hidden, "heads": heads, "kv": j.get("num_key_value_heads", heads), "width": j.get("head_dim", hidden // heads), "ffn": ffn,
                 "act": j.get("hidden_activation", j.get("hidden_act", default)), "json": j}
            self.kind, self.hidden = kind, hidden
            share = j.get("partial_rotary_factor", j.get("rotary_pct", 1))
            self.embed = nn.Embedding(j["vocab_size"], hidden)
            if kind in ("gpt2", "opt"):
                self.positions = nn.Embedding(512 + 2 * (kind == "opt"), hidden)
            elif kind == "mpt":
                self.register_buffer("slopes", torch.zeros(heads, 1, 1), persistent=False)
            else:
                self.rotary = Rotary(j["qk_rope_head_dim"] if kind == "deepseek_v3" else int(c["width"] * share))
            self.blocks = nn.ModuleList(Block(kind, c) for _ in range(2))
            self.norm, self.cap = norm(kind, hidden), j.get("final_logit_softcapping")
            self.head = nn.Linear(hidden, j["vocab_size"], bias=kind == "phi")
            if j.get("tie_word_embeddings", kind in ("gpt2", "opt", "mpt")):
                self.head.weight = self.embed.weight

        def forward(self, ids):
            x, length = self.embed(ids), ids.shape[1]
            cos = sin = bias = mask = None
            if self.kind.startswith("gemma"):
                x = x * self.hidden ** 0.5
            if self.kind == "gpt2":
                x = x + self.positions(torch.arange(length).unsqueeze(0))
            if self.kind == "opt":
                ones = torch.ones(ids.shape[0], length, dtype=torch.int64)
                x = x + self.positions(torch.cumsum(ones, dim=1) * ones - 1 + 2)
            if self.kind == "mpt":
                bias = (torch.arange(length) - (length - 1)).view(1, 1, -1) * self.slopes
                mask = torch.ones(length, length, dtype=torch.bool).triu(1)[None, None]
            if hasattr(self, "rotary"):
                cos, sin = self.rotary(x, torch.arange(length).unsqueeze(0))
            for block in self.blocks:
                x = block(x, cos, sin, bias, mask)
            logits = self.head(self.norm(x))
            return torch.tanh(logits / self.cap) * self.cap if self.cap else logits

    class EncoderLayer(nn.Module):
        def __init__(self, h, heads, ffn, behind):
            super().__init__()
            self.heads, self.behind = heads, behind
            self.q, self.k, self.v, self.out = (nn.Linear(h, h) for _ in range(4))
            self.up, self.down = nn.Linear(h, ffn), nn.Linear(ffn, h)
            self.norm1, self.norm2 = nn.LayerNorm(h), nn.LayerNorm(h)

        def attend(self, x):
            q, k, v = (p(x).view(x.shape[0], -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2) for p in (self.q, self.k, self.v))
            return self.out(weigh(q, k, v, False).reshape(x.shape))

        def forward(self, x):
            if self.behind:
                x = self.norm1(self.attend(x) + x)
                return self.norm2(self.down(F.gelu(self.up(x))) + x)
            x = self.attend(self.norm1(x)) + x
            return self.down(F.gelu(self.up(self.norm2(x)))) + x

    class Bert(nn.Module):
        def __init__(self, j):
            super().__init__()
            h = j["hidden_size"]
            self.words, self.types, self.positions = nn.Embedding(j["vocab_size"], h), nn.Embedding(2, h), nn.Embedding(512, h)
            self.norm = nn.LayerNorm(h)
            self.layers = nn.ModuleList(EncoderLayer(h, j["num_attention_heads"], j["intermediate_size"], True) for _ in range(2))
            self.dense, self.last, self.decoder = nn.Linear(h, h), nn.LayerNorm(h), nn.Linear(h, j["vocab_size"])
            self.decoder.weight = self.words.weight

        def forward(self, ids):
            types = torch.zeros(ids.shape[0], ids.shape[1], dtype=torch.int64)
            x = self.words(ids) + self.types(types) + self.positions(torch.arange(ids.shape[1]).unsqueeze(0))
            x = self.norm(x)
            for layer in self.layers:
                x = layer(x)
            return self.decoder(self.last(F.gelu(self.dense(x))))

    class Vit(nn.Module):
        def __init__(self, j):
            super().__init__()
            h, n = j["hidden_size"], (j["image_size"] // j["patch_size"]) ** 2
            self.patches = nn.Conv2d(3, h, j["patch_size"], j["patch_size"])
            self.token, self.positions = nn.Parameter(torch.zeros(1, 1, h)), nn.Parameter(torch.zeros(1, n + 1, h))
            self.layers = nn.ModuleList(EncoderLayer(h, j["num_attention_heads"], j["intermediate_size"], False) for _ in range(2))
            self.norm, self.classifier = nn.LayerNorm(h), nn.Linear(h, j["num_labels"])

        def forward(self, pixels):
            x = self.patches(pixels).flatten(2).transpose(1, 2)
            x = torch.cat((self.token.expand(pixels.shape[0], -1, -1), x), dim=1) + self.positions
            for layer in self.layers:
                x = layer(x)
            return self.classifier(self.norm(x)[:, 0, :])

    return Decoder, Bert, Vit


def export(folder):
    import torch
    Decoder, Bert, Vit = modules()
    for name, values in CONFIGS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "config.json").write_text(json.dumps({"model_type": name, **values}))
        model = Bert(values) if name == "bert" else Vit(values) if name == "vit" else Decoder(name, values)
        example = torch.zeros(BATCH, 3, 64, 64) if name == "vit" else torch.zeros(BATCH, LENGTH, dtype=torch.int64)
        program = torch.export.export(model.train(), (example,), dynamic_shapes=({0: torch.export.Dim("B", min=1, max=64)},))
        torch.export.save(program, folder / (name + ".pt2"))
        try:
            import transformers
        except ImportError:
            continue
        own = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(name, **values)) if name not in ("bert", "vit") else None
        if own is not None:
            program = torch.export.export(own.train(), (), {"input_ids": example, "use_cache": False}, strict=False)
            torch.export.save(program, folder / (name + ".transformers.pt2"))


def profile(model, mode, *options):
    adept = os.environ.get("ADEPT", str(pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "tools" / "adept"))
    return json.loads(subprocess.check_output([adept, "profile", str(model), "--json", "--mode", mode, "--batch", str(BATCH), *options]))


def compare(folder):
    print("| family | parameters | products, infer | products, training | bytes, infer | bytes, training |")
    print("|---|---|---|---|---:|---:|")
    worst = 0
    for name in CONFIGS:
        cells = [name]
        length = [] if name == "vit" else ["--seq-length", str(LENGTH)]
        rows = {mode: (profile(folder / (name + ".pt2"), mode), profile("adept:%s?%s" % (name, words(folder, name)), mode, *length))
                for mode in ("infer", "fwbw")}
        cells.append(verdict(*(r["model"]["params"] for r in rows["infer"])))
        for mode in rows:
            cells.append(verdict(*(sum(v for k, v in r["totals"].items() if k.startswith(("gemm_flops", "conv_flops"))) for r in rows[mode])))
        for mode in rows:
            theirs, ours = (sum(r["totals"][k] for k in r["totals"] if k.startswith("bytes_")) for r in rows[mode])
            worst = max(worst, abs(ours / theirs - 1))
            cells.append("%+.2f %%" % (100 * (ours / theirs - 1)))
        print("| " + " | ".join(cells) + " |", flush=True)
    return worst


def words(folder, name):
    values = json.loads((folder / name / "config.json").read_text())
    del values["model_type"]
    values.pop("architectures", None)
    return "&".join("%s=%s" % (k, json.dumps(v).strip('"')) for k, v in values.items()) + "&loss=none"


def verdict(a, b):
    return "equal" if a == b else "%g, not %g" % (b, a)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--export", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--compare", metavar="DIR", type=pathlib.Path)
    options = parser.parse_args()
    if options.export:
        export(options.export)
    if options.compare:
        raise SystemExit(compare(options.compare) > 0.01)


if __name__ == "__main__":
    main()
