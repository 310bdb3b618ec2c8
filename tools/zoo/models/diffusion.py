"""Diffusion models: the UNet of Stable Diffusion 1 and the DiT transformer.

The UNet's attribute names are those of the Hugging Face diffusers module, attention is eager.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

from .framework import Entry


def timestep_embedding(timesteps, width):
    """Sines and cosines of t (B,) -> (B, width)."""
    half = width // 2
    exponent = torch.arange(half, dtype=torch.float32) * (-math.log(10000.0) / half)
    angles = timesteps[:, None].float() * torch.exp(exponent)[None, :]
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)


# ---- UNet ------------------------------------------------------------------------------------------------------------

class TimestepEmbedding(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear_1 = nn.Linear(inputs, outputs)
        self.act = nn.SiLU()
        self.linear_2 = nn.Linear(outputs, outputs)

    def forward(self, x):
        return self.linear_2(self.act(self.linear_1(x)))


class ResnetBlock2D(nn.Module):
    def __init__(self, c_in, c_out, time_width):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, c_in, eps=1e-5)
        self.conv1 = nn.Conv2d(c_in, c_out, 3, padding=1)
        self.time_emb_proj = nn.Linear(time_width, c_out)
        self.norm2 = nn.GroupNorm(32, c_out, eps=1e-5)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, padding=1)
        self.nonlinearity = nn.SiLU()
        self.conv_shortcut = nn.Conv2d(c_in, c_out, 1) if c_in != c_out else None

    def forward(self, x, time):
        h = self.conv1(self.nonlinearity(self.norm1(x)))
        h = h + self.time_emb_proj(self.nonlinearity(time))[:, :, None, None]
        h = self.conv2(self.nonlinearity(self.norm2(h)))
        if self.conv_shortcut is not None:
            x = self.conv_shortcut(x)
        return x + h


class Attention(nn.Module):
    """Self-attention, or cross-attention to a context of another width."""

    def __init__(self, width, context_width, heads):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(context_width, width, bias=False)
        self.to_v = nn.Linear(context_width, width, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(width, width)])

    def split(self, x):
        """(B, L, heads * d) -> (B * heads, L, d)."""
        batch, length, width = x.size()
        x = x.reshape(batch, length, self.heads, width // self.heads).permute(0, 2, 1, 3)
        return x.reshape(batch * self.heads, length, width // self.heads)

    def forward(self, x, context):
        batch, length, width = x.size()
        q, k, v = self.split(self.to_q(x)), self.split(self.to_k(context)), self.split(self.to_v(context))
        blank = torch.empty(q.size(0), q.size(1), k.size(1), dtype=q.dtype)
        scores = torch.baddbmm(blank, q, k.transpose(-1, -2), beta=0, alpha=self.scale)
        out = torch.bmm(scores.softmax(dim=-1), v)
        out = out.reshape(batch, self.heads, length, width // self.heads).permute(0, 2, 1, 3)
        return self.to_out[0](out.reshape(batch, length, width))


class GEGLU(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.proj = nn.Linear(inputs, 2 * outputs)

    def forward(self, x):
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * F.gelu(gate)


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.ModuleList([GEGLU(width, 4 * width), nn.Dropout(0.0), nn.Linear(4 * width, width)])

    def forward(self, x):
        for module in self.net:
            x = module(x)
        return x


class BasicTransformerBlock(nn.Module):
    def __init__(self, width, context_width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn1 = Attention(width, width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.attn2 = Attention(width, context_width, heads)
        self.norm3 = nn.LayerNorm(width)
        self.ff = FeedForward(width)

    def forward(self, x, context):
        normed = self.norm1(x)
        x = self.attn1(normed, normed) + x
        x = self.attn2(self.norm2(x), context) + x
        return self.ff(self.norm3(x)) + x


class Transformer2DModel(nn.Module):
    def __init__(self, width, context_width, heads):
        super().__init__()
        self.norm = nn.GroupNorm(32, width, eps=1e-6)
        self.proj_in = nn.Conv2d(width, width, 1)
        self.transformer_blocks = nn.ModuleList([BasicTransformerBlock(width, context_width, heads)])
        self.proj_out = nn.Conv2d(width, width, 1)

    def forward(self, x, context):
        batch, width, height, columns = x.size()
        h = self.proj_in(self.norm(x)).permute(0, 2, 3, 1).reshape(batch, height * columns, width)
        for block in self.transformer_blocks:
            h = block(h, context)
        h = h.reshape(batch, height, columns, width).permute(0, 3, 1, 2).contiguous()
        return self.proj_out(h) + x


class Downsample2D(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, stride=2, padding=1)

    def forward(self, x):
        return self.conv(x)


class Upsample2D(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class UNetBlock(nn.Module):
    """Residual blocks, each followed by attention if the level has any, then a change of resolution if not the last."""

    def __init__(self, inputs, width, time_width, context_width, heads, attention):
        super().__init__()
        self.resnets = nn.ModuleList([ResnetBlock2D(c_in, width, time_width) for c_in in inputs])
        self.attentions = nn.ModuleList([Transformer2DModel(width, context_width, heads) for _ in inputs]
                                        if attention else [])

    def step(self, number, x, time, context):
        x = self.resnets[number](x, time)
        return self.attentions[number](x, context) if len(self.attentions) else x


class DownBlock(UNetBlock):
    def __init__(self, *args, last):
        super().__init__(*args)
        self.downsamplers = nn.ModuleList([] if last else [Downsample2D(args[1])])

    def forward(self, x, time, context):
        saved = []
        for number in range(len(self.resnets)):
            x = self.step(number, x, time, context)
            saved.append(x)
        for module in self.downsamplers:
            x = module(x)
            saved.append(x)
        return x, saved


class UpBlock(UNetBlock):
    def __init__(self, *args, last):
        super().__init__(*args)
        self.upsamplers = nn.ModuleList([] if last else [Upsample2D(args[1])])

    def forward(self, x, saved, time, context):
        for number in range(len(self.resnets)):
            x = self.step(number, torch.cat([x, saved[-1 - number]], dim=1), time, context)
        for module in self.upsamplers:
            x = module(x)
        return x


class MidBlock(nn.Module):
    def __init__(self, width, time_width, context_width, heads):
        super().__init__()
        self.attentions = nn.ModuleList([Transformer2DModel(width, context_width, heads)])
        self.resnets = nn.ModuleList([ResnetBlock2D(width, width, time_width) for _ in range(2)])

    def forward(self, x, time, context):
        x = self.attentions[0](self.resnets[0](x, time), context)
        return self.resnets[1](x, time)


class UNet2DConditionModel(nn.Module):
    """Noise prediction for a latent (B, 4, 64, 64) at step t (B,) under a text of (B, 77, 768)."""

    def __init__(self, channels=4, widths=(320, 640, 1280, 1280), context=768, heads=8, depth=2):
        super().__init__()
        time = 4 * widths[0]
        self.width = widths[0]
        self.conv_in = nn.Conv2d(channels, widths[0], 3, padding=1)
        self.time_embedding = TimestepEmbedding(widths[0], time)
        levels = len(widths)
        skips, down, c_in = [widths[0]], [], widths[0]
        for level, width in enumerate(widths):
            last = level == levels - 1
            down.append(DownBlock([c_in] + [width] * (depth - 1), width, time, context, heads, not last, last=last))
            skips += [width] * (depth + (not last))
            c_in = width
        self.down_blocks = nn.ModuleList(down)
        self.mid_block = MidBlock(c_in, time, context, heads)
        up = []
        for level, width in reversed(list(enumerate(widths))):
            inputs = []
            for _ in range(depth + 1):
                inputs.append(c_in + skips.pop())
                c_in = width
            up.append(UpBlock(inputs, width, time, context, heads, level < levels - 1, last=level == 0))
        self.up_blocks = nn.ModuleList(up)
        self.conv_norm_out = nn.GroupNorm(32, widths[0], eps=1e-5)
        self.conv_act = nn.SiLU()
        self.conv_out = nn.Conv2d(widths[0], channels, 3, padding=1)

    def forward(self, sample, timestep, encoder_hidden_states):
        time = self.time_embedding(timestep_embedding(timestep, self.width))
        x = self.conv_in(sample)
        saved = [x]
        for block in self.down_blocks:
            x, more = block(x, time, encoder_hidden_states)
            saved += more
        x = self.mid_block(x, time, encoder_hidden_states)
        for block in self.up_blocks:
            count = len(block.resnets)
            x = block(x, saved[-count:], time, encoder_hidden_states)
            saved = saved[:-count]
        return self.conv_out(self.conv_act(self.conv_norm_out(x)))


# ---- DiT -------------------------------------------------------------------------------------------------------------

def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class DiTAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.size()
        qkv = self.qkv(x).reshape(batch, length, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        scores = (q * self.head_dim ** -0.5) @ k.transpose(-2, -1)
        out = scores.softmax(dim=-1) @ v
        return self.proj(out.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.GELU(approximate="tanh")
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class DiTBlock(nn.Module):
    """Transformer block whose norms are shifted, scaled and gated by the condition (adaLN-Zero)."""

    def __init__(self, width=1152, heads=16):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.attn = DiTAttention(width, heads)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.mlp = Mlp(width, 4 * width)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x, condition):
        shift_1, scale_1, gate_1, shift_2, scale_2, gate_2 = self.adaLN_modulation(condition).chunk(6, dim=1)
        x = x + gate_1.unsqueeze(1) * self.attn(modulate(self.norm1(x), shift_1, scale_1))
        return x + gate_2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), shift_2, scale_2))


class PatchEmbed(nn.Module):
    def __init__(self, patch, channels, width):
        super().__init__()
        self.proj = nn.Conv2d(channels, width, patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class TimestepEmbedder(nn.Module):
    def __init__(self, width, frequencies=256):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(frequencies, width), nn.SiLU(), nn.Linear(width, width))
        self.frequencies = frequencies

    def forward(self, t):
        return self.mlp(timestep_embedding(t, self.frequencies))


class LabelEmbedder(nn.Module):
    """Class labels; the extra one stands for "no label"."""

    def __init__(self, classes, width):
        super().__init__()
        self.embedding_table = nn.Embedding(classes + 1, width)

    def forward(self, labels):
        return self.embedding_table(labels)


class FinalLayer(nn.Module):
    def __init__(self, width, patch, channels):
        super().__init__()
        self.norm_final = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.linear = nn.Linear(width, patch * patch * channels)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 2 * width))

    def forward(self, x, condition):
        shift, scale = self.adaLN_modulation(condition).chunk(2, dim=1)
        return self.linear(modulate(self.norm_final(x), shift, scale))


class DiT(nn.Module):
    """DiT-XL/2 (Peebles and Xie 2022) on latents of at most 32x32: 256 tokens."""

    def __init__(self, width=1152, depth=28, heads=16, patch=2, channels=4, size=32, classes=1000):
        super().__init__()
        self.patch = patch
        self.x_embedder = PatchEmbed(patch, channels, width)
        self.t_embedder = TimestepEmbedder(width)
        self.y_embedder = LabelEmbedder(classes, width)
        self.pos_embed = nn.Parameter(torch.empty(1, (size // patch) ** 2, width), requires_grad=False)
        self.blocks = nn.ModuleList([DiTBlock(width, heads) for _ in range(depth)])
        self.final_layer = FinalLayer(width, patch, 2 * channels)

    def forward(self, x, t, y):
        batch, _, height, columns = x.size()
        x = self.x_embedder(x)
        x = x + self.pos_embed[:, :x.size(1)]
        condition = self.t_embedder(t) + self.y_embedder(y)
        for block in self.blocks:
            x = block(x, condition)
        x = self.final_layer(x, condition)
        x = x.reshape(batch, height // self.patch, columns // self.patch, self.patch, self.patch, -1)
        x = torch.einsum("nhwpqc->nchpwq", x)
        return x.reshape(batch, -1, height, columns)


MODELS = {
    "unet_diffusion": Entry(lambda: UNet2DConditionModel(), ("Bx4x64x64", "i64:B", "Bx77x768"), 4, 859_520_964,
                            "Hugging Face, the UNet of Stable Diffusion 1.5", shrink={64: (8, 16), 77: (4, 5)}),
    "dit_xl_2": Entry(lambda: DiT(), ("Bx4x32x32", "i64:B", "i64:B"), 32, 675_129_632,
                      "facebookresearch/DiT, DiT-XL/2 (675M in the paper)", shrink={32: (4, 6)}),
    "dit_block": Entry(lambda: DiTBlock(), ("Bx256x1152", "Bx1152"), 32, shrink={256: (8, 6)}),
}
