"""Pieces that several families share."""
import math

import torch
from torch import nn


class NewGELU(nn.Module):
    """GPT-2's tanh GELU as its published code has it: elementary operations, one kernel each."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def split_heads(x, heads):
    """(B, L, heads * d) -> (B, heads, L, d)."""
    batch, length, _ = x.size()
    return x.view(batch, length, heads, -1).permute(0, 2, 1, 3)


def merge_heads(x):
    """(B, heads, L, d) -> (B, L, heads * d)."""
    x = x.permute(0, 2, 1, 3).contiguous()
    batch, length, _, _ = x.size()
    return x.view(batch, length, -1)


def padding_mask(input_ids, dtype=torch.float32):
    """(B, 1, 1, L) additive mask of a batch without padding, as made when the caller passes no mask."""
    mask = torch.ones(input_ids.size(0), input_ids.size(1))
    return (1.0 - mask[:, None, None, :].to(dtype)) * torch.finfo(dtype).min


def causal_mask(x):
    """(1, 1, L, L) additive mask for x (B, L, d)."""
    length = x.shape[1]
    mask = torch.full((length, length), torch.finfo(x.dtype).min, dtype=x.dtype)
    return torch.triu(mask, diagonal=1)[None, None, :, :]
