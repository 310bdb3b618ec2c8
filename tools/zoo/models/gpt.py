"""GPT-2, GPT-3-sized models in GPT-2's form, and OPT. Attribute names are those of the Hugging Face modules."""
import math
from dataclasses import dataclass

import torch
from torch import nn

from .framework import Entry
from .layers import NewGELU, causal_mask, merge_heads, padding_mask, split_heads


@dataclass(frozen=True)
class GPTConfig:
    layers: int
    hidden: int
    heads: int
    positions: int = 1024
    vocab: int = 50257
    ffn: int = 0                # 0: 4 * hidden
    dropout: float = 0.1


class Conv1D(nn.Module):
    """GPT-2's linear layer: weight (inputs, outputs), one addmm."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, x):
        batch, length, width = x.size()
        return torch.addmm(self.bias, x.view(-1, width), self.weight).view(batch, length, -1)


class GPT2Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        size = config.positions
        self.register_buffer("bias", torch.ones((1, 1, size, size), dtype=torch.bool).tril(), persistent=False)
        self.heads, self.hidden, self.head_dim = config.heads, config.hidden, config.hidden // config.heads
        self.c_attn = Conv1D(3 * config.hidden, config.hidden)
        self.c_proj = Conv1D(config.hidden, config.hidden)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        length = x.size(1)
        q, k, v = (split_heads(part, self.heads) for part in self.c_attn(x).split(self.hidden, dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_dim)
        visible = self.bias[:, :, :length, :length]
        scores = torch.where(visible, scores, torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype))
        weights = self.attn_dropout(nn.functional.softmax(scores, dim=-1))
        return self.resid_dropout(self.c_proj(merge_heads(torch.matmul(weights, v))))


class GPT2MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = Conv1D(4 * config.hidden, config.hidden)
        self.c_proj = Conv1D(config.hidden, 4 * config.hidden)
        self.act = NewGELU()
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


class GPT2Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.hidden, eps=1e-5)
        self.attn = GPT2Attention(config)
        self.ln_2 = nn.LayerNorm(config.hidden, eps=1e-5)
        self.mlp = GPT2MLP(config)

    def forward(self, x):
        x = self.attn(self.ln_1(x)) + x
        return x + self.mlp(self.ln_2(x))


class GPT2Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab, config.hidden)
        self.wpe = nn.Embedding(config.positions, config.hidden)
        self.drop = nn.Dropout(config.dropout)
        self.h = nn.ModuleList([GPT2Block(config) for _ in range(config.layers)])
        self.ln_f = nn.LayerNorm(config.hidden, eps=1e-5)

    def forward(self, input_ids):
        positions = torch.arange(input_ids.size(1)).unsqueeze(0)
        x = self.drop(self.wte(input_ids) + self.wpe(positions))
        for block in self.h:
            x = block(x)
        return self.ln_f(x)


class GPT2LMHeadModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.transformer = GPT2Model(config)
        self.lm_head = nn.Linear(config.hidden, config.vocab, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, input_ids):
        return self.lm_head(self.transformer(input_ids))


# ---- OPT -------------------------------------------------------------------------------------------------------------

class OPTLearnedPositionalEmbedding(nn.Embedding):
    """Positions counted over the attention mask, shifted by two."""

    def __init__(self, positions, width):
        super().__init__(positions + 2, width)

    def forward(self, attention_mask):
        mask = attention_mask.long()
        positions = (torch.cumsum(mask, dim=1).type_as(mask) * mask).long() - 1
        return super().forward(positions + 2)


class OPTAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.heads, config.hidden // config.heads
        self.k_proj = nn.Linear(config.hidden, config.hidden)
        self.v_proj = nn.Linear(config.hidden, config.hidden)
        self.q_proj = nn.Linear(config.hidden, config.hidden)
        self.out_proj = nn.Linear(config.hidden, config.hidden)
        self.dropout = config.dropout

    def forward(self, x, mask):
        batch, length, width = x.size()
        q, k, v = (t.view(batch, length, self.heads, self.head_dim).transpose(1, 2).contiguous()
                   .view(-1, length, self.head_dim)
                   for t in (self.q_proj(x) * self.head_dim ** -0.5, self.k_proj(x), self.v_proj(x)))
        scores = torch.bmm(q, k.transpose(1, 2))
        scores = scores.view(batch, self.heads, length, length) + mask
        scores = torch.max(scores, torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype))
        weights = nn.functional.softmax(scores.view(-1, length, length), dim=-1)
        weights = nn.functional.dropout(weights, p=self.dropout, training=self.training)
        out = torch.bmm(weights, v).view(batch, self.heads, length, self.head_dim).transpose(1, 2)
        return self.out_proj(out.reshape(batch, length, width))


class OPTDecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn = OPTAttention(config)
        self.activation_fn = nn.ReLU()
        self.self_attn_layer_norm = nn.LayerNorm(config.hidden)
        self.fc1 = nn.Linear(config.hidden, config.ffn)
        self.fc2 = nn.Linear(config.ffn, config.hidden)
        self.final_layer_norm = nn.LayerNorm(config.hidden)
        self.dropout = config.dropout

    def forward(self, x, mask):
        batch, length, width = x.size()
        out = self.self_attn(self.self_attn_layer_norm(x), mask)
        x = x + nn.functional.dropout(out, p=self.dropout, training=self.training)
        x = x.reshape(-1, width)
        out = self.fc2(self.activation_fn(self.fc1(self.final_layer_norm(x))))
        x = x + nn.functional.dropout(out, p=self.dropout, training=self.training)
        return x.view(batch, length, width)


class OPTDecoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab, config.hidden, padding_idx=1)
        self.embed_positions = OPTLearnedPositionalEmbedding(config.positions, config.hidden)
        self.layers = nn.ModuleList([OPTDecoderLayer(config) for _ in range(config.layers)])
        self.final_layer_norm = nn.LayerNorm(config.hidden)

    def forward(self, input_ids):
        attention_mask = torch.ones(input_ids.size(0), input_ids.size(1))
        x = self.embed_tokens(input_ids) + self.embed_positions(attention_mask)
        mask = causal_mask(x) + padding_mask(input_ids)
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_layer_norm(x)


class OPTModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.decoder = OPTDecoder(config)

    def forward(self, input_ids):
        return self.decoder(input_ids)


class OPTForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = OPTModel(config)
        self.lm_head = nn.Linear(config.hidden, config.vocab, bias=False)
        self.lm_head.weight = self.model.decoder.embed_tokens.weight

    def forward(self, input_ids):
        return self.lm_head(self.model(input_ids)).contiguous()


def entry(model, length, batch, params, source, **config):
    return Entry(lambda: model(GPTConfig(**config)), ("i64:Bx%d" % length,), batch, params, source, shrink={length: (4, 3)})


MODELS = {
    "gpt2": entry(GPT2LMHeadModel, 1024, 8, 124_439_808, "Hugging Face, gpt2", layers=12, hidden=768, heads=12),
    "gpt2_medium": entry(GPT2LMHeadModel, 1024, 8, 354_823_168, "Hugging Face, gpt2-medium", layers=24, hidden=1024, heads=16),
    "gpt2_large": entry(GPT2LMHeadModel, 1024, 4, 774_030_080, "Hugging Face, gpt2-large",
                        layers=36, hidden=1280, heads=20),
    "gpt2_xl": entry(GPT2LMHeadModel, 1024, 1, 1_557_611_200, "Hugging Face, gpt2-xl",
                     layers=48, hidden=1600, heads=25),
    # GPT-2 blocks at these sizes; no checkpoint, hence no count, is published.
    "gpt3_xl": entry(GPT2LMHeadModel, 2048, 2, None, "", layers=24, hidden=3072, heads=24, positions=2048),
    "gpt3_27": entry(GPT2LMHeadModel, 2048, 2, None, "", layers=32, hidden=2560, heads=32, positions=2048),
    "opt_13": entry(OPTForCausalLM, 2048, 2, 1_315_758_080, "Hugging Face, facebook/opt-1.3b",
                    layers=24, hidden=2048, heads=32, ffn=8192, vocab=50272, positions=2048),
}
