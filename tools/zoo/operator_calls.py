"""Calls of operators for check_operators.py that PyTorch's own samples leave out: a row is family, name, whether a gradient
is wanted, the function or module, and its arguments."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def rand(*shape):
    return torch.rand(*shape)


def labels(high, *shape):
    return torch.randint(high, shape)


IMAGE = (2, 4, 8, 8)

MODULES = [
    (nn.Conv1d(4, 6, 3), rand(2, 4, 9)), (nn.Conv2d(4, 6, 3, 2, 1), rand(*IMAGE)), (nn.Conv3d(2, 4, 3), rand(1, 2, 5, 5, 5)),
    (nn.ConvTranspose1d(4, 6, 3, 2), rand(2, 4, 9)), (nn.ConvTranspose2d(4, 6, 3, 2), rand(*IMAGE)),
    (nn.ConvTranspose3d(2, 4, 3), rand(1, 2, 4, 4, 4)), (nn.Conv2d(4, 4, 3, groups=4), rand(*IMAGE)),
    (nn.BatchNorm1d(4), rand(3, 4)), (nn.BatchNorm2d(4), rand(*IMAGE)), (nn.BatchNorm3d(2), rand(2, 2, 3, 3, 3)),
    (nn.GroupNorm(2, 4), rand(*IMAGE)), (nn.LayerNorm(8), rand(2, 3, 8)), (nn.LocalResponseNorm(2), rand(*IMAGE)),
    (nn.InstanceNorm1d(4), rand(2, 4, 6)), (nn.InstanceNorm2d(4, affine=True), rand(*IMAGE)), (nn.InstanceNorm3d(2), rand(2, 2, 3, 3, 3)),
    (nn.RNN(4, 6, 2), rand(5, 2, 4)), (nn.LSTM(4, 6, bidirectional=True), rand(5, 2, 4)), (nn.GRU(4, 6, batch_first=True), rand(2, 5, 4)),
    (nn.Linear(4, 6), rand(2, 4)), (nn.Identity(), rand(2, 4)), (nn.Flatten(), rand(*IMAGE)), (nn.Unflatten(1, (2, 2)), rand(*IMAGE)),
    (nn.Fold((4, 4), 2), rand(2, 8, 9)), (nn.Unfold(2), rand(*IMAGE)), (nn.PixelShuffle(2), rand(*IMAGE)),
    (nn.PixelUnshuffle(2), rand(*IMAGE)), (nn.ChannelShuffle(2), rand(*IMAGE)), (nn.Upsample(scale_factor=2), rand(*IMAGE)),
    (nn.UpsamplingBilinear2d(scale_factor=2), rand(*IMAGE)), (nn.UpsamplingNearest2d(scale_factor=2), rand(*IMAGE)),
    (nn.Dropout(), rand(2, 4)), (nn.Dropout1d(), rand(2, 4, 6)), (nn.Dropout2d(), rand(*IMAGE)), (nn.Dropout3d(), rand(1, 2, 3, 3, 3)),
    (nn.AlphaDropout(), rand(2, 4)), (nn.FeatureAlphaDropout(), rand(*IMAGE)), (nn.RReLU(), rand(2, 4)),
    (nn.CosineSimilarity(), rand(3, 4), rand(3, 4)), (nn.PairwiseDistance(), rand(3, 4), rand(3, 4)),
    (nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]), rand(6, 8), labels(20, 6)),
    (nn.Softmax2d(), rand(*IMAGE)), (nn.Softmax(1), rand(2, 4)), (nn.LogSoftmax(1), rand(2, 4)), (nn.Softmin(1), rand(2, 4)),
    (nn.MaxPool1d(2), rand(2, 4, 8)), (nn.MaxPool2d(2), rand(*IMAGE)), (nn.MaxPool3d(2), rand(1, 2, 4, 4, 4)),
    (nn.LPPool1d(2, 2), rand(2, 4, 8)), (nn.LPPool2d(2, 2), rand(*IMAGE)),
    (nn.FractionalMaxPool2d(2, 3), rand(*IMAGE)), (nn.FractionalMaxPool3d(2, 2), rand(1, 2, 5, 5, 5)),
    (nn.AdaptiveAvgPool1d(3), rand(2, 4, 8)), (nn.AdaptiveAvgPool2d(3), rand(*IMAGE)), (nn.AdaptiveAvgPool3d(2), rand(1, 2, 5, 5, 5)),
    (nn.AdaptiveMaxPool1d(3), rand(2, 4, 8)), (nn.AdaptiveMaxPool2d(3), rand(*IMAGE)), (nn.AdaptiveMaxPool3d(2), rand(1, 2, 5, 5, 5)),
    (nn.ReflectionPad1d(1), rand(2, 4, 8)), (nn.ReflectionPad2d(1), rand(*IMAGE)), (nn.ReflectionPad3d(1), rand(1, 2, 4, 4, 4)),
    (nn.ReplicationPad1d(1), rand(2, 4, 8)), (nn.ReplicationPad2d(1), rand(*IMAGE)), (nn.ReplicationPad3d(1), rand(1, 2, 4, 4, 4)),
    (nn.ZeroPad2d(1), rand(*IMAGE)), (nn.ConstantPad1d(1, 0.), rand(2, 4, 8)), (nn.ConstantPad2d(1, 0.), rand(*IMAGE)),
    (nn.ConstantPad3d(1, 0.), rand(1, 2, 4, 4, 4)), (nn.EmbeddingBag(10, 4), labels(10, 3, 5)),
    (nn.utils.weight_norm(nn.Linear(4, 6)), rand(2, 4)), (nn.utils.parametrizations.spectral_norm(nn.Linear(4, 6)), rand(2, 4)),
]

LOSSES = [
    (nn.BCELoss(), rand(3, 4), rand(3, 4)), (nn.BCEWithLogitsLoss(), rand(3, 4), rand(3, 4)), (nn.KLDivLoss(), rand(3, 4), rand(3, 4)),
    (nn.CrossEntropyLoss(), rand(3, 4), labels(4, 3)), (nn.HuberLoss(), rand(3, 4), rand(3, 4)), (nn.SmoothL1Loss(), rand(3, 4), rand(3, 4)),
    (nn.CTCLoss(), rand(10, 2, 5).log_softmax(2), labels(4, 2, 3) + 1, torch.tensor([10, 10]), torch.tensor([3, 3])),
    (nn.CosineEmbeddingLoss(), rand(3, 4), rand(3, 4), torch.tensor([1, -1, 1])), (nn.GaussianNLLLoss(), rand(3, 4), rand(3, 4), rand(3, 4)),
    (nn.HingeEmbeddingLoss(), rand(3, 4), torch.tensor([[1, -1, 1, 1]])), (nn.MarginRankingLoss(), rand(3), rand(3), torch.tensor([1, -1, 1])),
    (nn.MultiLabelMarginLoss(), rand(3, 4), labels(3, 3, 4)), (nn.MultiLabelSoftMarginLoss(), rand(3, 4), labels(2, 3, 4)),
    (nn.MultiMarginLoss(), rand(3, 4), labels(4, 3)), (nn.PoissonNLLLoss(), rand(3, 4), rand(3, 4)),
    (nn.SoftMarginLoss(), rand(3, 4), labels(2, 3, 4) * 2 - 1), (nn.TripletMarginLoss(), rand(3, 4), rand(3, 4), rand(3, 4)),
    (nn.TripletMarginWithDistanceLoss(), rand(3, 4), rand(3, 4), rand(3, 4)),
]


def packed(x, lengths):
    data = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    return nn.utils.rnn.pad_packed_sequence(data)[0]


FUNCTIONS = [
    ("torch.nn.utils", "pack_padded_sequence", packed, rand(5, 2, 3), torch.tensor([5, 5])),
    ("torch.nn.utils", "pad_sequence", lambda a, b: nn.utils.rnn.pad_sequence([a, b]), rand(5, 3), rand(4, 3)),
    ("torch.fft", "fftfreq", lambda x: x * torch.fft.fftfreq(4), rand(4)),
    ("torch windows", "hann_window", lambda x: x * torch.hann_window(4), rand(4)),
    ("torch windows", "hamming_window", lambda x: x * torch.hamming_window(4, True, .5), rand(4)),
    ("torch windows", "blackman_window", lambda x: x * torch.blackman_window(4, False), rand(4)),
    ("torch windows", "bartlett_window", lambda x: x * torch.bartlett_window(4), rand(4)),
    ("torch windows", "kaiser_window", lambda x: x * torch.kaiser_window(4, True, 8.), rand(4)),
    ("torch.nn.functional", "affine_grid", lambda t: F.affine_grid(t, (2, 3, 4, 5), False), rand(2, 2, 3)),
    ("torch.nn.functional", "interpolate antialiased", lambda x: F.interpolate(x, (4, 4), mode="bilinear", antialias=True), rand(*IMAGE)),
    ("quantization", "fake_quantize_per_tensor_affine", lambda x: torch.fake_quantize_per_tensor_affine(x, .1, 0, 0, 255), rand(3, 4)),
    ("quantization", "fake_quantize_per_channel_affine",
     lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(3), torch.zeros(3, dtype=torch.int32), 0, 0, 255), rand(3, 4)),
    ("quantization", "quantize_per_tensor", lambda x: torch.quantize_per_tensor(x, .1, 0, torch.quint8).dequantize(), rand(3, 4)),
]


def torchvision_calls():
    try:
        from torchvision import ops
    except ImportError:
        return
    boxes = torch.tensor([[0., 0., 4., 4.], [1., 1., 5., 5.], [2., 2., 7., 7.]])
    rois = torch.cat([torch.zeros(3, 1), boxes], 1)
    yield "nms", False, lambda b, s: ops.nms(b, s, .5), boxes, rand(3)
    yield "roi_align", True, lambda x, r: ops.roi_align(x, r, 4, 1., 2), rand(*IMAGE), rois
    yield "roi_pool", True, lambda x, r: ops.roi_pool(x, r, 4), rand(*IMAGE), rois
    yield "ps_roi_align", True, lambda x, r: ops.ps_roi_align(x, r, 2, 1., 2), rand(*IMAGE), rois
    yield "ps_roi_pool", True, lambda x, r: ops.ps_roi_pool(x, r, 2), rand(*IMAGE), rois
    yield "deform_conv2d", True, lambda x, o, w: ops.deform_conv2d(x, o, w, padding=1), rand(*IMAGE), rand(2, 18, 8, 8), rand(6, 4, 3, 3)
    yield "box_iou", False, ops.box_iou, boxes, boxes
    yield "sigmoid_focal_loss", True, ops.sigmoid_focal_loss, rand(3, 4), rand(3, 4)


class FastPath(nn.Module):
    """PyTorch takes it while no gradient is wanted, in evaluation mode."""

    def __init__(self, module):
        super().__init__()
        self.module = module.eval().requires_grad_(False)

    def forward(self, *args):
        with torch.no_grad():
            return self.module(*args)


def calls():
    for module, *args in MODULES:
        yield "torch.nn", type(module).__name__, True, module, args
    for module, *args in LOSSES:
        yield "torch.nn losses", type(module).__name__, False, module, args
    for family, name, function, *args in FUNCTIONS:
        yield family, name, True, function, args
    for name, train, function, *args in torchvision_calls():
        yield "torchvision.ops", name, train, function, args
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    mask = torch.tensor([[False] * 5, [False] * 4 + [True]])
    encoder = nn.TransformerEncoder(layer, 2)
    yield "inference fast paths", "TransformerEncoderLayer", False, FastPath(layer), (rand(2, 5, 8),)
    yield "inference fast paths", "TransformerEncoder", False, FastPath(encoder), (rand(2, 5, 8), None, mask)
    yield "inference fast paths", "MultiheadAttention", False, FastPath(nn.MultiheadAttention(8, 2, batch_first=True)), (rand(2, 5, 8),) * 3
