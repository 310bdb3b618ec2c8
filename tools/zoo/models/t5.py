"""T5 and the Switch Transformer: encoder-decoders with bucketed relative positions, without biases.

Attribute names are those of the Hugging Face modules, attention is eager.  The Switch layers dispatch tokens densely with
one-hot tensors of a fixed capacity, as in the Switch paper's own code (Fedus et al. 2021, appendix F).
"""
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from .framework import Entry


@dataclass(frozen=True)
class T5Config:
    layers: int = 12
    hidden: int = 768
    heads: int = 12
    head_dim: int = 64
    ffn: int = 3072
    vocab: int = 32128
    buckets: int = 32
    max_distance: int = 128
    dropout: float = 0.1
    experts: int = 0            # 0: dense; else every second layer is a mixture
    capacity: int = 64          # tokens of one sequence that one expert takes


class T5LayerNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.hidden))

    def forward(self, x):
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + 1e-6))


class T5Attention(nn.Module):
    def __init__(self, config, decoder, position_bias=False):
        super().__init__()
        self.config, self.decoder = config, decoder
        inner = config.heads * config.head_dim
        self.q = nn.Linear(config.hidden, inner, bias=False)
        self.k = nn.Linear(config.hidden, inner, bias=False)
        self.v = nn.Linear(config.hidden, inner, bias=False)
        self.o = nn.Linear(inner, config.hidden, bias=False)
        if position_bias:
            self.relative_attention_bias = nn.Embedding(config.buckets, config.heads)

    def bucket(self, distance):
        """Key position minus query position -> bucket: exact when near, logarithmic when far."""
        buckets = self.config.buckets
        result = torch.zeros_like(distance)
        if self.decoder:
            distance = -torch.min(distance, torch.zeros_like(distance))
        else:
            buckets //= 2
            result = result + (distance > 0).to(torch.long) * buckets
            distance = torch.abs(distance)
        exact = buckets // 2
        scale = (buckets - exact) / math.log(self.config.max_distance / exact)
        far = exact + (torch.log(distance.float() / exact) * scale).to(torch.long)
        far = torch.min(far, torch.full_like(far, buckets - 1))
        return result + torch.where(distance < exact, distance, far)

    def compute_bias(self, x):
        """(1, heads, L, L) for x (B, L, d)."""
        query = torch.arange(x.size(1))[:, None]
        key = torch.arange(x.size(1))[None, :]
        return self.relative_attention_bias(self.bucket(key - query)).permute([2, 0, 1]).unsqueeze(0)

    def shape(self, x):
        return x.view(x.size(0), -1, self.config.heads, self.config.head_dim).transpose(1, 2)

    def forward(self, x, memory, bias):
        q, k, v = self.shape(self.q(x)), self.shape(self.k(memory)), self.shape(self.v(memory))
        scores = torch.matmul(q, k.transpose(3, 2))
        scores = scores + bias
        weights = F.softmax(scores.float(), dim=-1).type_as(scores)
        weights = F.dropout(weights, p=self.config.dropout, training=self.training)
        out = torch.matmul(weights, v).transpose(1, 2).contiguous()
        return self.o(out.view(x.size(0), -1, self.config.heads * self.config.head_dim))


class T5LayerSelfAttention(nn.Module):
    def __init__(self, config, decoder, position_bias):
        super().__init__()
        self.SelfAttention = T5Attention(config, decoder, position_bias)
        self.layer_norm = T5LayerNorm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, bias):
        normed = self.layer_norm(x)
        return x + self.dropout(self.SelfAttention(normed, normed, bias))


class T5LayerCrossAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.EncDecAttention = T5Attention(config, True)
        self.layer_norm = T5LayerNorm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, memory, mask):
        return x + self.dropout(self.EncDecAttention(self.layer_norm(x), memory, mask))


class T5DenseActDense(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wi = nn.Linear(config.hidden, config.ffn, bias=False)
        self.wo = nn.Linear(config.ffn, config.hidden, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.wo(self.dropout(self.act(self.wi(x))))


class SwitchTop1Router(nn.Module):
    """Each token goes to the expert it scores highest, until that expert is full."""

    def __init__(self, config):
        super().__init__()
        self.classifier = nn.Linear(config.hidden, config.experts, bias=False)
        self.experts, self.capacity = config.experts, config.capacity

    def forward(self, x):
        """x (B, L, d) -> dispatch mask and combine weights, each (B, L, experts, capacity)."""
        probabilities = F.softmax(self.classifier(x.float()), dim=-1)
        gate, index = probabilities.max(dim=-1)
        expert = F.one_hot(index, num_classes=self.experts).to(x.dtype)
        place = torch.cumsum(expert, dim=1) * expert - 1.0
        expert = expert * (place < self.capacity).to(x.dtype)
        place = (place * expert).sum(dim=-1).clamp(0, self.capacity - 1).to(torch.long)
        slot = F.one_hot(place, num_classes=self.capacity).to(x.dtype)
        dispatch = torch.einsum("ble,blc->blec", expert, slot)
        return dispatch, dispatch * gate[:, :, None, None]


class SwitchExperts(nn.Module):
    """All experts' two matrices, each stacked into one parameter."""

    def __init__(self, config):
        super().__init__()
        self.wi = nn.Parameter(torch.empty(config.experts, config.hidden, config.ffn))
        self.wo = nn.Parameter(torch.empty(config.experts, config.ffn, config.hidden))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        """x (experts, tokens, d)."""
        return torch.bmm(self.dropout(F.relu(torch.bmm(x, self.wi))), self.wo)


class SwitchSparseMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.router = SwitchTop1Router(config)
        self.experts = SwitchExperts(config)
        self.config = config

    def forward(self, x):
        dispatch, combine = self.router(x)
        batch, _, width = x.size()
        tokens = torch.einsum("blec,bld->ebcd", dispatch, x)
        tokens = self.experts(tokens.reshape(self.config.experts, -1, width))
        tokens = tokens.view(self.config.experts, batch, self.config.capacity, width)
        return torch.einsum("blec,ebcd->bld", combine, tokens)


class T5LayerFF(nn.Module):
    def __init__(self, config, sparse):
        super().__init__()
        if sparse:
            self.mlp = SwitchSparseMLP(config)
        else:
            self.DenseReluDense = T5DenseActDense(config)
        self.layer_norm = T5LayerNorm(config)
        self.dropout = nn.Dropout(config.dropout)
        self.sparse = sparse

    def forward(self, x):
        inner = self.mlp if self.sparse else self.DenseReluDense
        return x + self.dropout(inner(self.layer_norm(x)))


class T5Block(nn.Module):
    def __init__(self, config, decoder, number):
        super().__init__()
        parts = [T5LayerSelfAttention(config, decoder, position_bias=number == 0)]
        if decoder:
            parts.append(T5LayerCrossAttention(config))
        parts.append(T5LayerFF(config, sparse=config.experts > 0 and number % 2 == 1))
        self.layer = nn.ModuleList(parts)
        self.decoder = decoder

    def forward(self, x, bias, memory=None, memory_mask=None):
        x = self.layer[0](x, bias)
        if self.decoder:
            x = self.layer[1](x, memory, memory_mask)
        return self.layer[-1](x)


def keep_all_mask(ids):
    """(B, 1, 1, L) additive mask without padding."""
    mask = torch.ones(ids.size(0), ids.size(1))
    return (1.0 - mask[:, None, None, :]) * torch.finfo(torch.float32).min


def keep_past_mask(ids):
    """(B, 1, L, L) additive causal mask."""
    length = ids.size(1)
    positions = torch.arange(length)
    past = positions[None, None, :].repeat(ids.size(0), length, 1) <= positions[None, :, None]
    return (1.0 - past[:, None, :, :].to(torch.float32)) * torch.finfo(torch.float32).min


class T5Stack(nn.Module):
    def __init__(self, config, decoder, shared):
        super().__init__()
        self.embed_tokens = shared
        self.block = nn.ModuleList([T5Block(config, decoder, number) for number in range(config.layers)])
        self.final_layer_norm = T5LayerNorm(config)
        self.dropout = nn.Dropout(config.dropout)
        self.decoder = decoder

    def forward(self, ids, memory=None, memory_mask=None):
        x = self.dropout(self.embed_tokens(ids))
        mask = keep_past_mask(ids) if self.decoder else keep_all_mask(ids)
        bias = self.block[0].layer[0].SelfAttention.compute_bias(x) + mask
        for block in self.block:
            x = block(x, bias, memory, memory_mask) if self.decoder else block(x, bias)
        return self.dropout(self.final_layer_norm(x))


class T5ForConditionalGeneration(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.shared = nn.Embedding(config.vocab, config.hidden)
        self.encoder = T5Stack(config, False, self.shared)
        self.decoder = T5Stack(config, True, self.shared)
        self.lm_head = nn.Linear(config.hidden, config.vocab, bias=False)
        self.lm_head.weight = self.shared.weight
        self.scale = config.hidden ** -0.5

    def forward(self, input_ids, decoder_input_ids):
        memory = self.encoder(input_ids)
        x = self.decoder(decoder_input_ids, memory, keep_all_mask(input_ids))
        return self.lm_head(x * self.scale)


T5_BASE_PARAMS = 222_903_552
MOE_LAYERS, EXPERTS, D, FFN = 12, 8, 768, 3072
INPUTS = ("i64:Bx512", "i64:Bx128")
MODELS = {
    "t5_base": Entry(lambda: T5ForConditionalGeneration(T5Config()), INPUTS, 8, T5_BASE_PARAMS,
                     "Hugging Face, t5-base", shrink={512: (6, 5), 128: (4, 3)}),
    "switch_base_8": Entry(lambda: T5ForConditionalGeneration(T5Config(experts=EXPERTS)), INPUTS, 8,
                           T5_BASE_PARAMS + MOE_LAYERS * ((EXPERTS - 1) * 2 * D * FFN + EXPERTS * D),
                           "T5-base, 7 more experts and a router in 12 of 24 layers", shrink={512: (6, 5), 128: (4, 3)}),
}
