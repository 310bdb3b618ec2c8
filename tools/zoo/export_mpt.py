#!/usr/bin/env python3
"""Write MPT as mosaicml/llm-foundry trains it, for its measurements: python3 tools/zoo/export_mpt.py DIR

DIR/mpt_125m.pt2 to mpt_7b.pt2, by PyTorch 2.1 or later, without weights. They are in bf16, the loss in fp32; attention is
causal and in one kernel. Biases and learned positions are there, as the source's counts of parameters say; ALiBi, which the
attention's kernel adds, is not. tools/public_rows.py finds them in the folder of its --models.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

# Layers, width, heads.
SIZES = {"mpt_125m": (12, 768, 12), "mpt_350m": (24, 1024, 16), "mpt_760m": (24, 1536, 12), "mpt_1b": (24, 2048, 16),
         "mpt_3b": (32, 2560, 20), "mpt_7b": (32, 4096, 32)}
VOCABULARY, POSITIONS = 50368, 70000


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.Wqkv = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.Wqkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm_2 = nn.LayerNorm(width)
        self.up_proj = nn.Linear(width, 4 * width)
        self.down_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attn(self.norm_1(x))
        return x + self.down_proj(F.gelu(self.up_proj(self.norm_2(x))))


class MPT(nn.Module):
    def __init__(self, layers, width, heads):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, width)
        self.wpe = nn.Embedding(POSITIONS, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm_f = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm_f(x), self.wte.weight)
        return F.cross_entropy(logits.float().view(-1, VOCABULARY), ids.reshape(-1))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    shapes = ({0: torch.export.Dim("B", min=1, max=512), 1: torch.export.Dim("S", min=8, max=POSITIONS)},)
    for name, size in SIZES.items():
        with torch.device("meta"):
            model = MPT(*size).to(torch.bfloat16)
            ids = torch.zeros(2, 2048, dtype=torch.int64)
        torch.export.save(torch.export.export(model, (ids,), dynamic_shapes=shapes), folder / f"{name}.pt2")
        print(name, flush=True)


if __name__ == "__main__":
    main()
