"""The kinds of models that people bring, each as small as its kind allows: name -> (module, example inputs, mode, how, and
what PyTorch runs to be counted where that is another module; options of adept).

Those of torchvision are its own; the others are written as they are commonly written, loops, masks and all. `mode` is
"fwbw" or "infer"; `how` is "trace", "script", "freeze" for a trace with its weights folded in,
or "optimise" for what torch.jit.optimize_for_inference makes of that.
"""
import copy
import math

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

IMAGE = (2, 3, 64, 64)


def image(batch=2, side=64):
    return torch.rand(batch, 3, side, side)


def ids(batch, length, words=100):
    return torch.randint(0, words, (batch, length))


def vision(name, side=64, **options):
    return lambda: (getattr(torchvision.models, name)(weights=None, **options), (image(side=side),), "fwbw", "trace")


def segmentation(name):
    class Out(nn.Module):
        def __init__(self):
            super().__init__()
            options = {} if name.startswith("lraspp") else {"aux_loss": None}
            self.net = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=5, **options)

        def forward(self, x):
            return self.net(x)["out"]
    return lambda: (Out(), (image(),), "fwbw", "trace")


SMALL_IMAGE = {"min_size": 96, "max_size": 128}
FEW_REGIONS = {"rpn_post_nms_top_n_test": 60, "box_detections_per_img": 10, **SMALL_IMAGE}


def detector(name, **sizes):
    return getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=5, **sizes).eval()


def all_regions(net):
    """The same with as many regions as it allows, whatever its weights: that is what adept assumes."""
    net = copy.deepcopy(net)
    for module in net.modules():
        if hasattr(module, "nms_thresh"):
            module.nms_thresh, module.score_thresh = 1.0, -1.0
    return net


def detection(name, **sizes):
    def make():
        net = detector(name, **sizes)
        return net, ([torch.rand(3, 96, 128), torch.rand(3, 96, 128)],), "fwbw", "script", all_regions(net)
    return make


class Detector(nn.Module):
    """A detector as it is traced: one image, boxes and scores."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        found = self.net([x])[0]
        return found["boxes"], found["scores"]


def traced_detection(name, **sizes):
    def make():
        net = Detector(detector(name, **sizes))
        return net, (torch.rand(3, 96, 128),), "fwbw", "trace", all_regions(net)
    return make


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))
        self.down1, self.down2, self.middle = block(3, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.up1, self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.join1, self.join2, self.last = block(4 * width, 2 * width), block(2 * width, width), nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.up1(self.middle(F.max_pool2d(b, 2)))
        d = self.up2(self.join1(torch.cat([b, c], 1)))
        return self.last(self.join2(torch.cat([a, d], 1)))


class Decoder(nn.Module):
    """GPT-like: a causal mask, one product for query, key and value."""

    def __init__(self, words=100, width=32, heads=4, layers=2):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
            "norm2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)}) for _ in range(layers))
        self.heads, self.norm = heads, nn.LayerNorm(width)

    def attend(self, block, x):
        b, n, w = x.size()
        q, k, v = (t.view(b, n, self.heads, w // self.heads).transpose(1, 2) for t in block["qkv"](x).split(w, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(w // self.heads)
        mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        y = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        return block["out"](y.transpose(1, 2).reshape(b, n, w))

    def forward(self, x):
        h = self.words(x) + self.places(torch.arange(x.size(1), device=x.device))
        for block in self.blocks:
            h = h + self.attend(block, block["norm1"](h))
            h = h + block["down"](F.gelu(block["up"](block["norm2"](h))))
        return self.norm(h) @ self.words.weight.T


class Llama(nn.Module):
    """Rotary positions, grouped keys, RMS norm, gated MLP."""

    def __init__(self, words=100, width=32, heads=4, groups=2):
        super().__init__()
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.q = nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, width // heads * groups, bias=False) for _ in range(2))
        self.o, self.gate, self.up = (nn.Linear(width, n, bias=False) for n in (width, 3 * width, 3 * width))
        self.down, self.scale = nn.Linear(3 * width, width, bias=False), nn.Parameter(torch.ones(width))
        self.heads, self.groups = heads, groups

    def norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale

    def rotate(self, x):
        n, w = x.size(2), x.size(3)
        angle = torch.outer(torch.arange(n, dtype=torch.float32), 1e4 ** (-torch.arange(0, w, 2) / w))
        turned = torch.view_as_complex(x.float().reshape(*x.shape[:3], -1, 2)) * torch.polar(torch.ones_like(angle), angle)
        return torch.view_as_real(turned).flatten(3)

    def forward(self, x):
        h = self.words(x)
        b, n, w = h.size()
        y, d = self.norm(h), w // self.heads
        q = self.rotate(self.q(y).view(b, n, self.heads, d).transpose(1, 2))
        k = self.rotate(self.k(y).view(b, n, self.groups, d).transpose(1, 2)).repeat_interleave(self.heads // self.groups, 1)
        v = self.v(y).view(b, n, self.groups, d).transpose(1, 2).repeat_interleave(self.heads // self.groups, 1)
        mask = torch.full((n, n), float("-inf")).triu(1)
        h = h + self.o(((q @ k.mT / d ** 0.5 + mask).softmax(-1) @ v).transpose(1, 2).reshape(b, n, w))
        y = self.norm(h)
        return self.head(h + self.down(F.silu(self.gate(y)) * self.up(y)))


class Experts(nn.Module):
    """Mixture of experts as Hugging Face writes it: a loop over experts, index_add_ of the tokens that chose one."""

    def __init__(self, width=16, experts=4):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, width)) for _ in range(experts))

    def forward(self, x):
        tokens = x.reshape(-1, x.size(-1))
        weights, chosen = self.gate(tokens).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            row, slot = torch.where(chosen == i)
            out.index_add_(0, row, expert(tokens[row]) * weights[row, slot, None])
        return out.view_as(x)


class LanguageModel(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words, self.net, self.head = nn.Embedding(100, 16), getattr(nn, kind)(16, 24, 2, batch_first=True), nn.Linear(24, 100)

    def forward(self, x):
        return self.head(self.net(self.words(x))[0])


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.net, self.head = nn.Embedding(100, 16), nn.GRU(16, 24, batch_first=True), nn.Linear(24, 2)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.words(x), lengths, batch_first=True, enforce_sorted=False)
        out, last = self.net(packed)
        return self.head(last[-1]), nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(100, 16), nn.Linear(16, 100)
        self.net = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)

    def forward(self, source, target):
        mask = self.net.generate_square_subsequent_mask(target.size(1))
        return self.head(self.net(self.words(source), self.words(target), tgt_mask=mask))


class Recogniser(nn.Module):
    """Speech: log-mel spectrum, convolutions, a bidirectional LSTM, the CTC loss."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("mel", torch.rand(33, 20))
        self.conv, self.net, self.head = nn.Conv1d(20, 16, 3, padding=1), nn.LSTM(16, 16, bidirectional=True), nn.Linear(32, 12)

    def forward(self, wave, target):
        spectrum = torch.stft(wave, 64, 32, window=self.window, return_complex=True).abs().pow(2)
        h = self.conv((spectrum.transpose(1, 2) @ self.mel).clamp(min=1e-6).log().transpose(1, 2)).relu()
        scores = self.head(self.net(h.permute(2, 0, 1))[0]).log_softmax(-1)
        return F.ctc_loss(scores, target, torch.full((wave.size(0),), scores.size(0)), torch.full((wave.size(0),), target.size(1)))


class Wav2Vec(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 16, 10, 5), nn.GroupNorm(16, 16), nn.GELU(), nn.Conv1d(16, 16, 3, 2), nn.GELU())
        self.place = nn.utils.weight_norm(nn.Conv1d(16, 16, 8, padding=4, groups=4), dim=2)
        self.net = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, wave):
        h = self.features(wave[:, None])
        return self.net((h + F.gelu(self.place(h)[:, :, :-1])).transpose(1, 2))


class Conformer(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, 2, batch_first=True)
        self.wide, self.deep, self.batch = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 7, padding=3, groups=width), nn.BatchNorm1d(width)
        self.last = nn.Conv1d(width, width, 1)

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        y = F.glu(self.wide(x.transpose(1, 2)), dim=1)
        return x + self.last(F.silu(self.batch(self.deep(y)))).transpose(1, 2)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(64, 16), nn.Linear(8, 64)

    def forward(self, x):
        mean, log_variance = self.encode(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
        return F.binary_cross_entropy_with_logits(self.decode(z), x) + divergence


class Diffusion(nn.Module):
    """A denoiser: sines of the time, group norm, attention over pixels, nearest upsampling."""

    def __init__(self, width=16):
        super().__init__()
        self.time, self.first, self.last = nn.Linear(width, width), nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.norm, self.down, self.up = nn.GroupNorm(4, width), nn.Conv2d(width, width, 3, 2, 1), nn.Conv2d(width, width, 3, padding=1)
        self.qkv = nn.Conv2d(width, 3 * width, 1)

    def forward(self, x, t):
        half = self.time.in_features // 2
        angle = t[:, None] * torch.exp(-math.log(1e4) * torch.arange(half) / half)
        h = self.first(x) + self.time(torch.cat([angle.sin(), angle.cos()], 1))[:, :, None, None]
        h = self.down(F.silu(self.norm(h)))
        b, c, rows, columns = h.shape
        q, k, v = self.qkv(h).view(b, 3, c, rows * columns).unbind(1)
        h = h + torch.bmm(v, (q.transpose(1, 2) @ k * c ** -0.5).softmax(-1).transpose(1, 2)).view(b, c, rows, columns)
        return self.last(self.up(F.interpolate(h, scale_factor=2.0, mode="nearest")))


class Ranker(nn.Module):
    """DLRM: bags of categories, products of all pairs."""

    def __init__(self, width=8):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(50, width, mode="sum") for _ in range(3))
        self.dense, self.top = nn.Sequential(nn.Linear(5, width), nn.ReLU()), nn.Linear(width + 6, 1)

    def forward(self, numbers, categories):
        dense = self.dense(numbers)
        all_ = torch.stack([dense] + [bag(c) for bag, c in zip(self.bags, categories.unbind(1))], 1)
        pairs = torch.bmm(all_, all_.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, offset=-1)
        return torch.sigmoid(self.top(torch.cat([dense, pairs[:, i, j]], 1)))


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items, self.head = nn.Embedding(40, 8), nn.Embedding(60, 8), nn.Linear(16, 1)

    def forward(self, user, item):
        u, i = self.users(user), self.items(item)
        return self.head(torch.cat([u * i, u + i], -1))


class GraphNet(nn.Module):
    """Messages along edges: index_select, scatter_add."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 3)

    def spread(self, x, edges):
        sums = torch.zeros_like(x).scatter_add(0, edges[1][:, None].expand(-1, x.size(1)), x[edges[0]])
        degree = torch.zeros(x.size(0)).index_add(0, edges[1], torch.ones(edges.size(1))).clamp(min=1)
        return sums / degree[:, None]

    def forward(self, x, edges):
        return self.second(self.spread(F.relu(self.first(x)), edges))


class SparseGraphNet(nn.Module):
    """The adjacency is a sparse buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("adjacency", torch.eye(10).roll(1, 0).add(torch.eye(10)).to_sparse())
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 3)

    def forward(self, x):
        return torch.sparse.mm(self.adjacency, self.second(F.relu(torch.sparse.mm(self.adjacency, self.first(x)))))


class GraphAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.score = nn.Linear(8, 16), nn.Parameter(torch.rand(32))

    def forward(self, x, adjacency):
        h = self.project(x)
        pairs = torch.cat([h[:, None].expand(-1, h.size(0), -1), h[None].expand(h.size(0), -1, -1)], -1)
        scores = F.leaky_relu(pairs @ self.score, 0.2).masked_fill(adjacency == 0, -9e15)
        return F.elu(F.dropout(scores.softmax(1), 0.1, self.training) @ h)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, anchor, near, far):
        return F.triplet_margin_loss(self.net(anchor), self.net(near), self.net(far))


class Contrast(nn.Module):
    """CLIP: two towers, normalised, a matrix of similarities, cross entropy both ways."""

    def __init__(self):
        super().__init__()
        self.images, self.texts = nn.Conv2d(3, 16, 8, 8), nn.EmbeddingBag(100, 16)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, pictures, words):
        i, t = F.normalize(self.images(pictures).mean((2, 3)), dim=-1), F.normalize(self.texts(words), dim=-1)
        scores = self.scale.exp() * i @ t.T
        truth = torch.arange(scores.size(0))
        return F.cross_entropy(scores, truth) + F.cross_entropy(scores.T, truth)


class Warp(nn.Module):
    def __init__(self):
        super().__init__()
        self.where, self.what = nn.Linear(3 * 16 * 16, 6), nn.Conv2d(3, 4, 3)

    def forward(self, x):
        grid = F.affine_grid(self.where(x.flatten(1)).view(-1, 2, 3), list(x.size()), align_corners=False)
        return self.what(F.grid_sample(x, grid, align_corners=False))


class Field(nn.Module):
    """NeRF: sines of places, an MLP, the sum along a ray."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, points):
        angles = points[..., None] * 2.0 ** torch.arange(4)
        out = self.net(torch.cat([angles.sin(), angles.cos()], -1).flatten(-2))
        alpha = 1 - torch.exp(-F.relu(out[..., 3]))
        light = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
        return ((alpha * light)[..., None] * out[..., :3].sigmoid()).sum(1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.actor, self.critic = nn.Linear(8, 32), nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, state, action, advantage):
        h = torch.tanh(self.body(state))
        chosen = self.actor(h).log_softmax(-1).gather(1, action[:, None]).squeeze(1)
        return -(chosen * advantage).mean() + F.smooth_l1_loss(self.critic(h).squeeze(1), advantage)


class Lora(nn.Module):
    """A frozen layer with a thin trained one beside it."""

    def __init__(self):
        super().__init__()
        self.base, self.a, self.b = nn.Linear(32, 32), nn.Linear(32, 4, bias=False), nn.Linear(4, 32, bias=False)
        self.base.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + 2.0 * self.b(self.a(x))


class Forecaster(nn.Module):
    """Informer and its kin: Fourier transform over time, a causal convolution."""

    def __init__(self):
        super().__init__()
        self.mix, self.weight = nn.Conv1d(4, 8, 3), nn.Parameter(torch.rand(8, 17, dtype=torch.cfloat))

    def forward(self, x):
        h = self.mix(F.pad(x, (2, 0)))
        return torch.fft.irfft(torch.fft.rfft(h) * self.weight, n=x.size(-1)).mean(1)


class Points(nn.Module):
    """PointNet++: distances, the nearest neighbours gathered, the maximum over them."""

    def __init__(self):
        super().__init__()
        self.net, self.head = nn.Conv2d(6, 16, 1), nn.Linear(16, 5)

    def forward(self, x):
        near = torch.cdist(x, x).topk(4, largest=False)[1]
        around = torch.gather(x[:, None].expand(-1, x.size(1), -1, -1), 2, near[..., None].expand(-1, -1, -1, 3))
        pairs = torch.cat([around - x[:, :, None], x[:, :, None].expand_as(around)], -1)
        return self.head(F.relu(self.net(pairs.permute(0, 3, 1, 2))).amax((2, 3)))


def quantised():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)).train()
    net.qconfig = torch.ao.quantization.get_default_qat_qconfig("fbgemm")
    return torch.ao.quantization.prepare_qat(net), (image(),), "fwbw", "trace"


def integers():
    net = nn.Sequential(torch.ao.quantization.QuantStub(), nn.Conv2d(3, 8, 3), nn.ReLU(), torch.ao.quantization.DeQuantStub()).eval()
    net.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    prepared = torch.ao.quantization.prepare(net)
    prepared(image())
    return torch.ao.quantization.convert(prepared), (image(),), "infer", "trace", net, "--trust"


def dynamic():
    net = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
    return torch.ao.quantization.quantize_dynamic(net, {nn.Linear}), (torch.rand(2, 16),), "infer", "trace", net, "--trust"


def frozen():
    return torchvision.models.resnet18(weights=None).eval(), (image(),), "infer", "freeze"


def encoder(train):
    def make():
        net = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
        inputs = (torch.rand(2, 8, 16),)
        if train:
            return net, inputs, "fwbw", "trace"
        fast = copy.deepcopy(net).eval().requires_grad_(False)  # a layer is one operator where nothing wants a gradient
        return fast, inputs, "infer", "trace", net.eval()
    return make


def optimised():
    """Without Conv2d and Conv3d: of those, PyTorch 1.13 writes files that it cannot load."""
    net = nn.Sequential(nn.Linear(8, 16), nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), nn.Linear(16, 3)).eval()
    return net, (torch.rand(2, 5, 8),), "infer", "optimise"


def of(make, *inputs, mode="fwbw", how="trace"):
    return lambda: (make(), inputs, mode, how)


def generator():
    return nn.Sequential(nn.ConvTranspose2d(16, 16, 4), nn.BatchNorm2d(16), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())


def bf16():
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)).bfloat16()


FLOW = torch.rand(1, 3, 128, 128)

KINDS = {
    "image: AlexNet": vision("alexnet"),
    "image: VGG": vision("vgg11_bn"),
    "image: ResNet": vision("resnet18"),
    "image: ResNeXt": vision("resnext50_32x4d"),
    "image: DenseNet": vision("densenet121"),
    "image: SqueezeNet": vision("squeezenet1_1"),
    "image: GoogLeNet": vision("googlenet", aux_logits=False, init_weights=False),
    "image: Inception": vision("inception_v3", side=96, aux_logits=False, init_weights=False),
    "image: MobileNet v3": vision("mobilenet_v3_small"),
    "image: ShuffleNet": vision("shufflenet_v2_x0_5"),
    "image: MNASNet": vision("mnasnet0_5"),
    "image: EfficientNet": vision("efficientnet_b0"),
    "image: RegNet": vision("regnet_y_400mf"),
    "image: ConvNeXt": vision("convnext_tiny"),
    "image: vision transformer": vision("vit_b_32", side=224),
    "image: Swin": vision("swin_t"),
    "image: MaxViT": vision("maxvit_t", side=224),
    "segmentation: FCN": segmentation("fcn_resnet50"),
    "segmentation: DeepLab": segmentation("deeplabv3_mobilenet_v3_large"),
    "segmentation: LR-ASPP": segmentation("lraspp_mobilenet_v3_large"),
    "segmentation: U-Net": of(UNet, image()),
    "detection: Faster R-CNN, scripted": detection("fasterrcnn_mobilenet_v3_large_320_fpn", **FEW_REGIONS),
    "detection: Mask R-CNN, scripted": detection("maskrcnn_resnet50_fpn", **FEW_REGIONS),
    "detection: Keypoint R-CNN, scripted": detection("keypointrcnn_resnet50_fpn", **FEW_REGIONS),
    "detection: RetinaNet, scripted": detection("retinanet_resnet50_fpn", **SMALL_IMAGE),
    "detection: SSD, scripted": detection("ssdlite320_mobilenet_v3_large"),
    "detection: FCOS, scripted": detection("fcos_resnet50_fpn", **SMALL_IMAGE),
    "detection: Faster R-CNN, traced": traced_detection("fasterrcnn_mobilenet_v3_large_320_fpn", **FEW_REGIONS),
    "detection: RetinaNet, traced": traced_detection("retinanet_resnet50_fpn", **SMALL_IMAGE),
    "video: R3D": lambda: (torchvision.models.video.r3d_18(weights=None), (torch.rand(1, 3, 4, 32, 32),), "fwbw", "trace"),
    "video: MViT": lambda: (torchvision.models.video.mvit_v1_b(weights=None), (torch.rand(1, 3, 16, 224, 224),), "infer", "trace"),
    "optical flow: RAFT": lambda: (torchvision.models.optical_flow.raft_small(weights=None).eval(), (FLOW, FLOW), "infer", "trace"),
    "text: encoder, training": encoder(True),
    "text: encoder, inference by the fast path": encoder(False),
    "text: GPT": of(Decoder, ids(2, 12)),
    "text: GRU, scripted": of(lambda: LanguageModel("GRU"), ids(2, 12), how="script"),
    "text: Llama": of(Llama, ids(2, 12)),
    # each token chooses two of four experts
    "text: mixture of experts": lambda: (Experts(), (torch.rand(2, 6, 16),), "fwbw", "trace", None, "--assume-fraction=0.25"),
    "text: translator": of(Translator, ids(2, 9), ids(2, 7)),
    "text: LSTM": of(lambda: LanguageModel("LSTM"), ids(2, 12)),
    "text: LSTM, scripted": of(lambda: LanguageModel("LSTM"), ids(2, 12), how="script"),
    # adept takes all sequences for full ones
    "text: GRU over packed sequences": of(Packed, ids(3, 9), torch.tensor([9, 9, 9])),
    "speech: spectrum, LSTM, CTC": of(Recogniser, torch.rand(2, 800), torch.randint(1, 12, (2, 5))),
    "speech: wav2vec": of(Wav2Vec, torch.rand(2, 400)),
    "speech: Conformer": of(Conformer, torch.rand(2, 10, 16)),
    "generative: DCGAN": of(generator, torch.rand(2, 16, 1, 1)),
    "generative: VAE": of(VAE, torch.rand(4, 64)),
    "generative: diffusion": of(Diffusion, image(side=16), torch.rand(2)),
    "recommender: DLRM": of(Ranker, torch.rand(4, 5), torch.randint(0, 50, (4, 3, 2))),
    "recommender: matrix factors": of(Factors, torch.randint(0, 40, (8,)), torch.randint(0, 60, (8,))),
    "graph: convolution": of(GraphNet, torch.rand(10, 8), torch.randint(0, 10, (2, 30))),
    "graph: convolution, sparse": of(SparseGraphNet, torch.rand(10, 8)),
    "graph: attention": of(GraphAttention, torch.rand(10, 8), torch.randint(0, 2, (10, 10))),
    "metric: siamese, triplet loss": of(Siamese, *(torch.rand(4, 16) for _ in range(3))),
    "metric: CLIP": of(Contrast, image(), torch.randint(0, 100, (2, 6))),
    "geometry: spatial transformer": of(Warp, image(side=16)),
    "geometry: NeRF": of(Field, torch.rand(5, 8, 3)),
    "geometry: PointNet": of(Points, torch.rand(2, 12, 3)),
    "control: policy gradient": of(Policy, torch.rand(6, 8), torch.randint(0, 4, (6,)), torch.rand(6)),
    "time series: Fourier": of(Forecaster, torch.rand(2, 4, 32)),
    "adapters: LoRA": of(Lora, torch.rand(4, 32)),
    "quantised: QAT": quantised,
    "quantised: integers": integers,
    "quantised: integers, dynamic": dynamic,
    "image: ResNet, frozen": frozen,
    "text: encoder, optimised for inference": optimised,
    "16 bits: weights in bf16": of(bf16, torch.rand(4, 16).bfloat16()),
}
