"""What a random program may do next. A family is a function of a Program that returns an expression, (expression, number of
results) of a list or tuple, or lines in which {} is the result's name."""
import re

import torch

UNARY = """relu gelu sigmoid tanh celu silu softplus hardswish leaky_relu elu selu mish relu6 hardtanh logsigmoid""".split()
FUNCTIONS = """abs neg exp log sin cos sqrt rsqrt sign floor ceil round square erf isnan logical_not log1p reciprocal trunc sigmoid
bitwise_not frac expm1 atan tanh zeros_like ones_like rand_like detach""".split()
BINARY = """add sub mul div maximum minimum pow atan2 fmod remainder floor_divide eq lt ge ne logical_and logical_or bitwise_and bitwise_xor
logaddexp hypot true_divide fmin xlogy""".split()
SCALARS = ["2", "-1", "0.5", "True", "3", "2.0"]
TYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "bool"]
CASTS = ["float()", "half()", "double()", "long()", "int()", "bool()", "bfloat16()"]

# Templates: {t} any value, {f} a floating one, {1} to {5} a floating one of that rank; of the last one: {d} a dimension, {D} several,
# {=} a leaf of its shape and type, {~} one that broadcasts, {i} indices that fit its shape, {b} a mask; {k} True or False,
# {s} a number, {T} a type, {n-m} a whole number.
TEMPLATES = """
torch.sum({t}, {D}, {k})
torch.sum({t})
torch.sum({t}, {D}, {k}, dtype=torch.{T})
torch.mean({f}, {D}, {k})
torch.amax({t}, {D}, {k})
torch.std({f}, {D}, {k}, {k})
torch.var({f}, {D}, unbiased={k}, keepdim={k})
torch.logsumexp({f}, {D}, {k})
torch.norm({f}, 2, {D}, {k})
torch.prod({t}, {d}, {k})
torch.any({t}, {d}, {k})
torch.all({t})
torch.argmax({t}, {d}, {k})
torch.argmin({t})
torch.cumsum({t}, {d})
torch.cumprod({t}, {d})
torch.count_nonzero({t}, {d})
torch.nn.functional.normalize({f}, 2.0, {d})
torch.softmax({f}, {d})
torch.log_softmax({f}, {d})
torch.softmax({t}, {d}, dtype=torch.{T})
F.softmin({f}, {d})
F.glu({f}, {d})
torch.permute({t}, {P})
{t}.permute({P})
torch.transpose({t}, {d}, {d})
{t}.t()
torch.movedim({t}, {d}, {d})
torch.squeeze({t})
torch.squeeze({t}, {d})
torch.unsqueeze({t}, {e})
torch.flatten({t}, {d}, {d})
torch.flatten({t})
{t}.contiguous()
{t}.view(-1)
{t}.view({V})
{t}.reshape({V})
torch.reshape({t}, {V})
torch.unflatten({t}, {d}, {V})
{t}.expand({E})
torch.broadcast_to({t}, {E})
{t}.repeat({R})
torch.tile({t}, {R})
torch.repeat_interleave({t}, {1-3}, {d})
torch.narrow({t}, {d}, {0-2}, {1-3})
torch.select({t}, {d}, {-3-2})
torch.diagonal({t}, {-1-1}, {d}, {d})
torch.as_strided({t}, [{1-3}, {1-3}], [{0-3}, {0-2}], {0-3})
{t}.as_strided([{1-4}], [{0-2}])
{t}.unfold({d}, {1-4}, {1-3})
torch.flip({t}, {D})
torch.roll({t}, {-2-3}, {d})
torch.roll({t}, {1-3})
torch.rot90({t}, {-1-3}, [{0-1}, {0-2}])
torch.triu({t}, {-1-1})
torch.tril({t})
torch.diag({t})
torch.diag_embed({t}, {-1-1})
{t}[{-3-2}]
{t}[{-6-3}:{-3-9}]
{t}[:, {-3-2}]
{t}[..., {-2-4}::{1-3}]
{t}[:, None]
{t}[{-3-1}:, {0-3}:{1-9}:{1-2}]
{t}[{i}]
torch.gather({t}, {d}, {G})
torch.scatter({t}, {d}, {G}, {=})
torch.scatter_add({t}, {d}, {G}, {=})
torch.take_along_dim({t}, {G}, {d})
torch.index_select({t}, {d}, {I})
torch.index_add({t}, {d}, {I}, {=})
torch.index_copy({t}, {d}, {I}, {=})
torch.index_fill({t}, {d}, {I}, {s})
torch.take({t}, {I})
torch.masked_fill({t}, {b}, {s})
torch.where({b0}, {t}, {~})
torch.where({b0}, {t}, {s})
torch.clamp({t}, {-1-0}, {1-2})
torch.clamp({t}, min={s})
torch.lerp({f}, {~}, {s})
torch.addcmul({f}, {~}, {~}, value={s})
torch.addcdiv({f}, {~}, {~})
torch.isclose({f}, {=})
torch.bucketize({f}, {1})
torch.searchsorted({1}, {f})
torch.cdist({3}, {3}, 2.0)
torch.dist({f}, {~})
torch.outer({1}, {1})
torch.dot({1}, {=})
torch.kron({t}, {~})
torch.matmul({f}, {f})
torch.mm({2}, {2})
torch.bmm({3}, {3})
torch.mv({2}, {1})
torch.trace({2})
torch.cross({f}, {=}, {d})
F.pairwise_distance({2}, {=})
F.cosine_similarity({f}, {~}, {d})
torch.zeros([{0-3}, {1-4}])
torch.ones([{1-3}], dtype=torch.{T})
torch.full([{1-3}, {1-2}], {s})
torch.arange({1-6})
torch.arange({0-2}, {2-9}, {1-3})
torch.arange(0.0, {1-4}, 0.5)
torch.linspace(0.0, 1.0, {1-5})
torch.eye({1-4}, {1-4})
torch.tensor([{0-3}, {1-2}])
torch.tensor({s})
{t}.new_zeros([{1-3}])
torch.full_like({t}, {s})
torch.zeros_like({t}, dtype=torch.{T})
{t}.type_as({t})
{t}.to({t})
{t}.to(torch.{T})
{t} + {s}
{s} * {t}
{t} / {s}
{t} ** 2
{t} // {s}
{t} % {s}
-{t}
{t} > {s}
{t} == {t}
1.0 - {t}
{t} @ {t}
F.pixel_shuffle({4}, {1-2})
F.pixel_unshuffle({4}, {1-2})
F.channel_shuffle({4}, {1-3})
F.dropout({f}, 0.5, {k})
F.dropout2d({4}, 0.5)
F.feature_alpha_dropout({4}, 0.2)
F.max_pool1d({3}, {1-3}, {1-3}, {0-1}, {1-2}, {k})
F.max_pool2d({4}, [{1-3}, {1-3}], [{1-3}, {1-2}], [{0-1}, {0-1}], [{1-2}, 1], {k})
F.max_pool3d({5}, {1-3}, {1-2}, {0-1}, 1, {k})
F.max_pool2d({3}, {1-3})
F.avg_pool1d({3}, [{1-3}], [{1-3}], [{0-1}], {k}, {k})
F.avg_pool2d({4}, [{1-4}, {1-3}], [{1-3}, {1-2}], [{0-2}, {0-1}], {k}, {k})
F.avg_pool3d({5}, [{1-3}, 1, {1-2}], None, [0, 0, {0-1}], {k})
F.lp_pool2d({4}, 2.0, {1-3}, {1-2}, {k})
F.adaptive_avg_pool2d({4}, [{1-4}, {1-4}])
F.adaptive_avg_pool1d({3}, [{1-4}])
F.adaptive_max_pool2d({4}, [{1-4}, {1-4}])
F.adaptive_avg_pool3d({5}, [{1-3}, {1-3}, {1-3}])
F.unfold({4}, [{1-3}, {1-3}], [{1-2}, 1], [{0-1}, 0], [{1-2}, {1-2}])
F.layer_norm({f}, {L})
F.local_response_norm({4}, {1-4})
F.mse_loss({f}, {~})
F.mse_loss({f}, {=}, reduction="{r}")
F.l1_loss({f}, {=}, reduction="{r}")
F.smooth_l1_loss({f}, {=}, reduction="{r}")
F.huber_loss({f}, {=}, reduction="{r}")
F.binary_cross_entropy_with_logits({f}, {=}, reduction="{r}")
F.binary_cross_entropy(torch.sigmoid({f}), {=})
F.kl_div({f}, {=}, reduction="{r}")
F.soft_margin_loss({f}, {=})
F.poisson_nll_loss({f}, {=})
F.hinge_embedding_loss({f}, {=}, reduction="{r}")
F.triplet_margin_loss({2}, {=}, {=})
F.cosine_embedding_loss({2}, {=}, torch.ones([{1-4}]))
F.one_hot({I}, {1-4})
torch.nn.functional.pad({t}, [{-1-2}, {0-2}])
torch.nn.functional.pad({t}, [{0-2}, {-1-2}, {0-2}, {0-3}], "constant", 1.0)
torch.nn.functional.pad({4}, [{0-3}, {0-2}, {-1-2}, {0-4}], "{m}")
torch.nn.functional.pad({3}, [{0-3}, {-1-4}], "{m}")
torch.nn.functional.pad({5}, [{0-1}, {0-2}, {0-2}, {0-1}, {0-1}, 1], "{m}")
F.interpolate({4}, scale_factor=2.0, mode="{M}")
F.interpolate({4}, size=[{1-5}, {2-7}], mode="{M}")
F.interpolate({3}, scale_factor=[1.5])
F.interpolate({5}, size=[{1-3}, {1-3}, {1-4}], mode="trilinear", align_corners={k})
torch.fft.rfft({f}, dim={d}).real
torch.fft.fft2({f}).abs()
torch.linalg.norm({2})
torch.linalg.vector_norm({f}, 2, {D}, {k})
torch.cov({2})
torch.histc({f}, {1-5})
torch.combinations({1}, {1-3})
torch.vander({1}, {1-4})
torch.tensordot({t}, {t}, {0-2})
torch.swapaxes({t}, {d}, {d})
torch.nan_to_num({t})
torch.diff({t}, {1-2}, {d})
torch.atleast_2d({t})
torch.clone({t})
torch.median({t})
torch.nanmean({f}, {D}, {k})
torch.renorm({f}, 2, {d}, 1.0)
torch.bernoulli({f})
torch.block_diag({t}, {t})
torch.trapz({f}, dim={d})
torch.hardshrink({f})
torch.prelu({f}, {1})
torch.rrelu({f})
torch.threshold({f}, 0.1, 1.0)
torch.pairwise_distance({2}, {2})
torch.corrcoef({2})
torch.inner({f}, {f})
torch.chain_matmul({2}, {2})
torch.linalg.multi_dot([{2}, {2}, {2}])
""".strip().splitlines()

LISTS = """
torch.max({t}, {d}, {k}) 2
torch.min({t}, {d}) 2
torch.topk({t}, {1-3}, {d}) 2
torch.sort({t}, {d}, {k}) 2
torch.kthvalue({t}, {1-3}, {d}, {k}) 2
torch.median({t}, {d}) 2
torch.mode({t}, {d}) 2
torch.cummax({t}, {d}) 2
torch.var_mean({f}, {D}, {k}, {k}) 2
torch.std_mean({f}, {D}) 2
torch.aminmax({t}) 2
torch.frexp({f}) 2
torch.broadcast_tensors([{t}, {~}]) 2
torch.meshgrid([{1}, {1}]) 2
torch.meshgrid([{1}, {1}, {1}]) 3
torch.split({t}, {1-3}, {d}) *
torch.split({t}, [{1-3}, {0-3}], {d}) *
torch.chunk({t}, {1-4}, {d}) *
torch.tensor_split({t}, {1-3}, {d}) *
torch.tensor_split({t}, [{0-2}, {1-4}], {d}) *
torch.unbind({t}, {d}) *
torch.hsplit({t}, {1-2}) *
F.max_pool2d_with_indices({4}, {1-3}, {1-2}, {0-1}) 2
F._scaled_dot_product_attention({3}, {=}, {=}, None, 0.0, {k}, {k}) 1
F._scaled_dot_product_attention({4}, {4}, {4}) 1
torch.native_layer_norm({f}, {L}, None, None, 1e-5) 1
torch.gradient({1}) 1
""".strip().splitlines()

IN_PLACE = """
{t}.add_({~})
{t}.mul_({s})
{t}.sub_({~})
{t}.div_({s})
{t}.relu_()
{t}.clamp_(0, 1)
{t}.unsqueeze_({e})
{t}.squeeze_()
{t}.squeeze_({d})
{t}.transpose_({d}, {d})
{t}.t_()
{t}.copy_({~})
{t}.fill_({s})
{t}.zero_()
{t}.masked_fill_({b}, {s})
{t}.scatter_({d}, {G}, {s})
{t}.index_add_({d}, {I}, {=})
{t}.addcmul_({~}, {~})
{t}.pow_({s})
{t}.exp_()
{t}.logical_not_()
{t}.lt_({s})
{t}.swapaxes_({d}, {d})
""".strip().splitlines()


def fill(p, template):
    """The template with values put in, from left to right."""
    last = [None]

    def value(found):
        key, name = found.group(1), last[0]
        if key in ("t", "f") or key in "12345" and len(key) == 1:
            last[0] = p.pick() if key == "t" else p.floating(None if key == "f" else int(key))
            return last[0]
        if key == "k":
            return str(p.chance(0.5))
        if key == "s":
            return p.rng.choice(SCALARS)
        if key == "T":
            return p.rng.choice(TYPES)
        if key == "r":
            return p.rng.choice(("none", "mean", "sum"))
        if key == "m":
            return p.rng.choice(("reflect", "replicate", "circular", "constant"))
        if key == "M":
            return p.rng.choice(("nearest", "bilinear", "bicubic", "area", "nearest-exact"))
        if "-" in key[1:]:
            low, high = re.fullmatch(r"(-?\d+)-(-?\d+)", key).groups()
            return str(p.int(int(low), int(high)))
        if key == "b0":
            return p.leaf(p.shape() if p.chance(0.1) else [1], torch.bool)
        shape = list(p.values[name].shape) if name else []
        rank = len(shape)
        if key == "d":
            return str(p.dim(name))
        if key == "e":
            return str(p.int(-rank - 1, rank))
        if key == "D":
            return str(p.dims(name, 1))
        if key == "P":
            return str([d - rank if p.chance(0.2) else d for d in p.rng.sample(range(rank), rank)])
        if key == "=":
            return p.leaf(shape, p.values[name].dtype) if not p.chance(0.1) else p.like(name)
        if key == "~":
            return p.like(name)
        if key == "b":
            return p.leaf([1 if p.chance(0.2) else d for d in shape], torch.bool)
        if key == "i":
            return p.leaf(p.shape(p.rng.randint(0, 2)), torch.int64)
        if key == "I":
            return p.leaf([p.rng.randint(1, 4)] if p.chance(0.9) else p.shape(), torch.int64)
        if key == "G":
            return p.leaf([p.rng.randint(1, d) if d else 0 for d in shape] if p.chance(0.9) else p.shape(), torch.int64)
        if key == "R":
            return str([p.int(1, 2) for _ in range(rank + p.rng.randint(0, 1))])
        if key == "E":
            dims = [p.rng.randint(1, 3) if d == 1 else -1 if p.chance(0.3) else d for d in shape]
            return str([p.int(1, 3) for _ in range(p.rng.randint(0, 1))] + dims)
        if key == "L":
            return str(shape[p.rng.randrange(rank):] if rank else [1])
        assert key == "V", key
        return str(regrouped(p, shape))

    return re.sub(r"\{([^{}]+)\}", value, template)


def regrouped(p, shape):
    """Another shape of as many elements."""
    dims = list(shape)
    for _ in range(p.rng.randint(1, 3)):
        if len(dims) > 1 and p.chance(0.5):
            at = p.rng.randrange(len(dims) - 1)
            dims[at:at + 2] = [dims[at] * dims[at + 1]]
        elif dims:
            at = p.rng.randrange(len(dims))
            factors = [f for f in range(1, dims[at] + 1) if dims[at] % f == 0] or [1]
            f = p.rng.choice(factors)
            dims[at:at + 1] = [f, dims[at] // f]
    if dims and p.chance(0.4):
        dims[p.rng.randrange(len(dims))] = -1
    return dims if not p.chance(0.03) else dims + [2]


# ------------------------------------------------------------------ families


def template(p):
    return fill(p, p.rng.choice(TEMPLATES))


def several(p):
    text, count = p.rng.choice(LISTS).rsplit(" ", 1)
    text = fill(p, text)
    if count != "*":
        return text, int(count)
    try:
        found = eval(text, {"torch": torch}, p.values)
    except Exception:
        return text, 1
    return text, max(1, min(len(found), 4))


def in_place(p):
    names = list(p.values)
    if not names:
        return template(p)
    text = fill(p, p.rng.choice(IN_PLACE))
    if p.chance(0.15):
        name = p.rng.choice(names)
        text = p.rng.choice(("%s[%d:%d] = %s", "%s[..., %d:%d] = %s")) % (name, p.int(0, 1), p.int(1, 3), p.rng.choice(SCALARS))
        return [text, "{} = %s * 1" % name]
    return text


def unary(p):
    if p.chance(0.5):
        return "F.%s(%s)" % (p.rng.choice(UNARY), p.floating())
    return "torch.%s(%s)" % (p.rng.choice(FUNCTIONS), p.pick())


def binary(p):
    a = p.pick()
    b = p.rng.choice(SCALARS) if p.chance(0.2) else p.like(a)
    return "torch.%s(%s, %s)" % (p.rng.choice(BINARY), a, b)


def cast(p):
    return "%s.%s" % (p.pick(), p.rng.choice(CASTS))


def product(p):
    a = p.pick(lambda t: t.is_floating_point() and t.dim() >= 1)
    shape, dtype = list(p.values[a].shape), p.values[a].dtype
    k, n = (shape[-1] if shape else 1), p.int(1, 5)
    k = k + p.rng.choice((1, -1, 2)) if p.chance(0.04) else k
    dtype = torch.float32 if p.chance(0.04) else dtype
    kind = p.rng.randrange(8)
    if kind <= 2:
        bias = p.leaf([n if not p.chance(0.04) else n + 1], dtype) if p.chance(0.6) else "None"
        return "F.linear(%s, %s, %s)" % (a, p.leaf([n, k], dtype), bias)
    if kind == 3 and len(shape) >= 2:
        other = [1 if p.chance(0.3) else d for d in shape[:-2]] + [k, n]
        return "torch.matmul(%s, %s)" % (a, p.leaf(other, dtype))
    if kind == 4 and len(shape) == 3:
        c = p.leaf([shape[0] if p.chance(0.7) else 1, 1 if p.chance(0.5) else shape[1], n], dtype)
        return "torch.baddbmm(%s, %s, %s)" % (c, a, p.leaf([shape[0], k, n], dtype))
    if kind == 5 and len(shape) == 2:
        return "torch.addmm(%s, %s, %s)" % (p.leaf([n], dtype), a, p.leaf([k, n], dtype))
    if kind == 6:
        other = p.leaf(shape[:-1] + [p.int(1, 4)], dtype)
        return "F.bilinear(%s, %s, %s)" % (a, other, p.leaf([n, k, p.values[other].shape[-1]], dtype))
    return einsum(p, a, shape, dtype)


def einsum(p, a, shape, dtype):
    letters = "abcdef"[:len(shape)]
    other = "".join(p.rng.sample(letters, p.rng.randint(1, len(letters)))) + "z" * p.chance(0.7)
    sizes = dict(zip(letters, shape), z=3)
    if p.chance(0.05):
        sizes[other[0]] += 1
    kept = "".join(p.rng.sample(sorted(set(letters + other)), p.rng.randint(0, len(set(letters + other)))))
    equation = "%s,%s" % (letters, other) + ("->" + kept if p.chance(0.8) else "")
    return 'torch.einsum("%s", [%s, %s])' % (equation, a, p.leaf([sizes[c] for c in other], dtype))


def convolution(p):
    n = p.rng.choice((1, 2, 2, 3))
    x = p.floating(n + 2 - p.chance(0.15))
    t = p.values[x]
    c = t.shape[-n - 1] if t.dim() > n else 1
    groups = p.rng.choice([g for g in range(1, c + 1) if c % g == 0] or [1]) if not p.chance(0.04) else 3
    out = groups * p.rng.randint(1, 3) if not p.chance(0.03) else p.rng.randint(1, 5)
    numbers = [[p.int(low, high) for _ in range(n)] for low, high in ((1, 3), (1, 3), (0, 2), (1, 2))]
    kernel, stride, padding, dilation = [[abs(d) for d in one] if i in (0, 3) else one for i, one in enumerate(numbers)]
    wrong = p.chance(0.04)
    if p.chance(0.35) and t.dtype is not torch.bfloat16:  # oneDNN has another opinion of its weights
        weight = p.leaf([c + wrong, max(out // groups, 1)] + kernel, t.dtype)
        bias = p.leaf([max(out // groups, 1) * groups], t.dtype) if p.chance(0.5) else "None"
        extra = [p.rng.randint(0, max(0, s - 1)) if not p.chance(0.1) else s for s in map(abs, stride)]
        return "F.conv_transpose%dd(%s, %s, %s, %s, %s, %s, %d, %s)" % (n, x, weight, bias, stride, padding, extra, groups, dilation)
    weight = p.leaf([out, max(c // groups, 1) + wrong] + kernel, t.dtype)
    bias = p.leaf([out + p.chance(0.03)], t.dtype) if p.chance(0.5) else "None"
    if p.chance(0.1):
        padding = '"%s"' % p.rng.choice(("same", "valid"))
    return "F.conv%dd(%s, %s, %s, %s, %s, %s, %d)" % (n, x, weight, bias, stride, padding, dilation, groups)


def norm(p):
    x = p.floating()
    t = p.values[x]
    c = t.shape[1] if t.dim() > 1 else 1
    c = c + 1 if p.chance(0.04) else c
    of_c = [p.leaf([c]) if p.chance(0.6) else "None" for _ in range(2)]
    kind = p.rng.randrange(4)
    if kind == 0:
        training = p.chance(0.6)
        stats = "%s, %s" % (p.leaf([c], buffer=True), p.leaf([c], buffer=True)) if not training or p.chance(0.5) else "None, None"
        return "torch.batch_norm(%s, %s, %s, %s, %s, 0.1, 1e-5, False)" % (x, of_c[0], of_c[1], stats, training)
    if kind == 1:
        groups = p.rng.choice([g for g in range(1, c + 1) if c % g == 0] or [1]) if not p.chance(0.05) else 3
        return "F.group_norm(%s, %d, %s, %s)" % (x, groups, *of_c)
    if kind == 2:
        return "torch.instance_norm(%s, %s, %s, None, None, True, 0.1, 1e-5, False)" % (x, *of_c)
    shape = list(t.shape[p.rng.randrange(t.dim()):]) if t.dim() else [1]
    weight = p.leaf(shape if not p.chance(0.05) else [3], t.dtype)
    return "F.layer_norm(%s, %s, %s)" % (x, shape, weight)


def joined(p):
    a = p.pick()
    t = p.values[a]
    dim = p.dim(a)
    others = []
    for _ in range(p.rng.randint(0, 2)):
        dims = list(t.shape)
        kind = p.rng.choice(("torch.cat", "torch.stack"))
        if dims and kind == "torch.cat" and -len(dims) <= dim < len(dims):
            dims[dim] = p.rng.randint(1, 4)
        others.append(p.leaf(dims, p.rng.choice((t.dtype, torch.float32, torch.int64))) if not p.chance(0.05) else p.pick())
    name = p.rng.choice(("torch.cat", "torch.cat", "torch.stack", "torch.hstack", "torch.vstack", "torch.dstack"))
    names = ", ".join([a] + others)
    return "%s([%s]%s)" % (name, names, ", %d" % dim if name in ("torch.cat", "torch.stack") else "")


def embedding(p):
    x = p.pick(dtype=torch.int64 if p.chance(0.9) else torch.int32)
    table = p.leaf([p.rng.randint(9, 12), p.rng.randint(1, 6)])
    if p.chance(0.25):
        return "F.embedding_bag(%s, %s, mode=\"%s\")" % (x, table, p.rng.choice(("sum", "mean", "max")))
    return "F.embedding(%s, %s%s)" % (x, table, ", %d" % p.int(-9, 8) if p.chance(0.3) else "")


def loss(p):
    x = p.floating()
    shape = list(p.values[x].shape)
    target = shape[:1] + shape[2:] if len(shape) > 1 else []
    weight = "None"
    if p.chance(0.2):
        weight = p.leaf([(shape[1] if len(shape) > 1 else shape[0] if shape else 1) + p.chance(0.1)])
    if p.chance(0.05):
        target = target + [2]
    name = p.rng.choice(("F.cross_entropy", "F.nll_loss", "F.multi_margin_loss", "F.cross_entropy"))
    if name == "F.cross_entropy" and p.chance(0.3):
        return "F.cross_entropy(%s, %s, %s)" % (x, p.leaf(shape), weight)
    labels = p.leaf(target, torch.int64)
    reduction = p.rng.choice(("none", "mean", "sum"))
    if name == "F.multi_margin_loss":
        return 'F.multi_margin_loss(%s, %s, reduction="%s")' % (x, labels, reduction)
    return '%s(%s, %s, %s, reduction="%s")' % (name, x, labels, weight, reduction)


def recurrent(p):
    x = p.floating(3)
    batch_first = p.chance(0.5)
    shape = list(p.values[x].shape) if p.values[x].dim() == 3 else [2, 3, 4]
    layers, both, hidden = p.rng.randint(1, 2), p.chance(0.4), p.rng.randint(1, 4)
    kind = p.rng.choice(("lstm", "gru", "rnn_tanh"))
    gates, ways = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[kind], 1 + both
    weights = []
    for layer in range(layers):
        for _ in range(ways):
            into = shape[2] if layer == 0 else hidden * ways
            into += p.chance(0.02)
            weights += [p.leaf([gates * hidden, into]), p.leaf([gates * hidden, hidden]), p.leaf([gates * hidden]),
                        p.leaf([gates * hidden])]
    state = [layers * ways, shape[0 if batch_first else 1] + p.chance(0.03), hidden]
    first = "[%s, %s]" % (p.leaf(state), p.leaf(state)) if kind == "lstm" else p.leaf(state)
    return "torch.%s(%s, %s, [%s], True, %d, 0.0, False, %s, %s)" % (
        kind, x, first, ", ".join(weights), layers, both, batch_first), 3 if kind == "lstm" else 2


def flow(p):
    a = p.floating()
    dim = p.values[a].dim()
    kind = p.rng.randrange(5)
    if kind == 0:
        return ["if %s.dim() > %d:" % (a, p.rng.randint(0, 3)), "    {} = %s.sum(%d)" % (a, p.dim(a)), "else:",
                "    {} = torch.relu(%s)" % a]
    if kind == 1:
        return ["{} = %s" % a, "for i in range(%d):" % p.rng.randint(0, 3), "    {} = torch.cat([{}, %s], %d)" % (a, p.dim(a))]
    if kind == 2:
        b = p.like(a)
        return ["l = [%s, %s]" % (a, a), "for i in range(%d):" % p.rng.randint(0, 2), "    l.append(%s + %s)" % (a, b),
                "{} = torch.stack(l, %d)" % p.dim(a)]
    if kind == 3 and dim:
        d = p.rng.randrange(dim)
        return ["n = %s.size(%d)" % (a, d), "{} = %s" % a, "while n > %d:" % p.rng.randint(1, 4), "    n = n - 2",
                "    {} = torch.unsqueeze({}, 0) if n %% 2 == 0 and {}.dim() < 6 else {}[:%d]" % p.rng.randint(1, 3)]
    if kind == 4 and dim:
        d = p.dim(a)
        return ["s = %s.size(%d) // %d" % (a, d, p.rng.randint(1, 3)), "{} = torch.narrow(%s, %d, 0, s)" % (a, d)]
    return ["{} = %s" % a, "if %s.size(0) == %d:" % (a, p.rng.randint(1, 3)), "    {} = torch.mean(%s, %d)" % (a, p.dim(a))]


FAMILIES = [template] * 22 + [several] * 4 + [in_place] * 3 + [unary] * 2 + [binary] * 4 + [cast, embedding, loss, recurrent] + \
    [product] * 5 + [convolution] * 5 + [norm] * 3 + [joined] * 2 + [flow] * 2
