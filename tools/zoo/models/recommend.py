"""Recommendation models."""
import torch
from torch import nn

from .framework import Entry


class NeuMF(nn.Module):
    """Neural matrix factorisation (He et al. 2017), in MLPerf's size for MovieLens-20M."""

    def __init__(self, users=138493, items=26744, factors=64, widths=(256, 256, 128, 64)):
        super().__init__()
        self.mf_user_embed = nn.Embedding(users, factors)
        self.mf_item_embed = nn.Embedding(items, factors)
        self.mlp_user_embed = nn.Embedding(users, widths[0] // 2)
        self.mlp_item_embed = nn.Embedding(items, widths[0] // 2)
        self.mlp = nn.ModuleList([nn.Linear(a, b) for a, b in zip(widths, widths[1:])])
        self.dropout = nn.Dropout(0.5)
        self.final = nn.Linear(widths[-1] + factors, 1)

    def forward(self, user, item):
        product = self.mf_user_embed(user) * self.mf_item_embed(item)
        x = torch.cat((self.mlp_user_embed(user), self.mlp_item_embed(item)), dim=1)
        for layer in self.mlp:
            x = self.dropout(nn.functional.relu(layer(x)))
        return self.final(torch.cat((product, x), dim=1))


# Embeddings (138,493 + 26,744) * (64 + 128), three dense layers and the last one.
NEUMF_PARAMS = (138_493 + 26_744) * (64 + 128) + 257 * 256 + 257 * 128 + 129 * 64 + 129
MODELS = {"neumf": Entry(lambda: NeuMF(), ("i64:B", "i64:B"), 65536, NEUMF_PARAMS, "closed form")}
