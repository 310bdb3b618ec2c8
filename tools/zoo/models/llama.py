"""Decoders of the Llama family: RMSNorm, rotary positions, grouped-query attention, gated SiLU feed-forward.

Attribute names are those of the Hugging Face modules (model.layers.0.self_attn.q_proj), attention is eager.
"""
import math
from dataclasses import dataclass

import torch
from torch import nn

from .framework import Entry
from .layers import causal_mask


@dataclass(frozen=True)
class LlamaConfig:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    tied: bool = False          # lm_head shares the embedding's weight
    qkv_bias: bool = False      # Qwen2
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5


class LlamaRMSNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.hidden))
        self.eps = config.norm_eps

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.eps)
        return self.weight * x.to(dtype)


class LlamaRotaryEmbedding(nn.Module):
    def __init__(self, config):
        super().__init__()
        dim = config.hidden // config.heads
        inv_freq = 1.0 / (config.rope_theta ** (torch.arange(0, dim, 2).float() / dim))
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    def forward(self, position_ids):
        """position_ids (1, L) -> cos, sin, each (1, L, head_dim)."""
        inv_freq = self.inv_freq[None, :, None].float().expand(position_ids.shape[0], -1, 1)
        freqs = (inv_freq @ position_ids[:, None, :].float()).transpose(1, 2)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos(), emb.sin()


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def apply_rotary(q, k, cos, sin):
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def repeat_kv(x, times):
    """(B, kv_heads, L, head_dim) -> (B, kv_heads * times, L, head_dim)."""
    if times == 1:
        return x
    batch, heads, length, dim = x.shape
    x = x[:, :, None, :, :].expand(batch, heads, times, length, dim)
    return x.reshape(batch, heads * times, length, dim)


class LlamaAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads
        self.head_dim = config.hidden // config.heads
        kv_size = config.kv_heads * self.head_dim
        self.q_proj = nn.Linear(config.hidden, config.hidden, bias=config.qkv_bias)
        self.k_proj = nn.Linear(config.hidden, kv_size, bias=config.qkv_bias)
        self.v_proj = nn.Linear(config.hidden, kv_size, bias=config.qkv_bias)
        self.o_proj = nn.Linear(config.hidden, config.hidden, bias=False)

    def forward(self, x, mask, cos, sin):
        batch, length, _ = x.size()
        q = self.q_proj(x).view(batch, length, self.heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = apply_rotary(q, k, cos, sin)
        k = repeat_kv(k, self.heads // self.kv_heads)
        v = repeat_kv(v, self.heads // self.kv_heads)
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        scores = scores + mask
        weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        out = torch.matmul(weights, v).transpose(1, 2).contiguous()
        return self.o_proj(out.reshape(batch, length, -1))


class LlamaMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden, config.ffn, bias=False)
        self.up_proj = nn.Linear(config.hidden, config.ffn, bias=False)
        self.down_proj = nn.Linear(config.ffn, config.hidden, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn = LlamaAttention(config)
        self.mlp = LlamaMLP(config)
        self.input_layernorm = LlamaRMSNorm(config)
        self.post_attention_layernorm = LlamaRMSNorm(config)

    def forward(self, x, mask, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), mask, cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class LlamaModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab, config.hidden)
        self.layers = nn.ModuleList([LlamaDecoderLayer(config) for _ in range(config.layers)])
        self.norm = LlamaRMSNorm(config)
        self.rotary_emb = LlamaRotaryEmbedding(config)

    def forward(self, input_ids):
        x = self.embed_tokens(input_ids)
        position_ids = torch.arange(x.shape[1]).unsqueeze(0)
        mask = causal_mask(x)
        cos, sin = self.rotary_emb(position_ids)
        for layer in self.layers:
            x = layer(x, mask, cos, sin)
        return self.norm(x)


class LlamaForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = LlamaModel(config)
        self.lm_head = nn.Linear(config.hidden, config.vocab, bias=False)
        if config.tied:
            self.lm_head.weight = self.model.embed_tokens.weight

    def forward(self, input_ids):
        return self.lm_head(self.model(input_ids)).float()


def entry(length, batch, params, source, **config):
    return Entry(lambda: LlamaForCausalLM(LlamaConfig(**config)), ("i64:Bx%d" % length,), batch, params, source,
                 shrink={length: (4, 3)})


QWEN = dict(vocab=151936, tied=True, qkv_bias=True, rope_theta=1e6, norm_eps=1e-6)
MODELS = {
    "tinyllama_1.1b": entry(512, 16, 1_100_048_384, "safetensors of TinyLlama/TinyLlama-1.1B",
                            layers=22, hidden=2048, heads=32, kv_heads=4, ffn=5632, vocab=32000),
    "llama3_8b": entry(2048, 1, 8_030_261_248, "safetensors of meta-llama/Meta-Llama-3-8B",
                       layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256, rope_theta=5e5),
    "qwen2.5_0.5b": entry(1024, 8, 494_032_768, "safetensors of Qwen/Qwen2.5-0.5B",
                          layers=24, hidden=896, heads=14, kv_heads=2, ffn=4864, **QWEN),
    "qwen2.5_1.5b": entry(1024, 4, 1_543_714_304, "safetensors of Qwen/Qwen2.5-1.5B",
                          layers=28, hidden=1536, heads=12, kv_heads=2, ffn=8960, **QWEN),
    "qwen2.5_3b": entry(1024, 2, 3_085_938_688, "safetensors of Qwen/Qwen2.5-3B",
                        layers=36, hidden=2048, heads=16, kv_heads=2, ffn=11008, **QWEN),
}
