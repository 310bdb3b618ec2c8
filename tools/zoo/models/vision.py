"""Image models: torchvision's, and the CIFAR variant of ShuffleNetV2."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from .framework import Entry


class ShuffleUnit(nn.Module):
    """ShuffleNetV2 block (Ma et al. 2018, fig. 3 c and d): split or downsample, convolve one half, shuffle channels.
    Convolutions keep their biases, as in the CIFAR variant."""

    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.split = stride == 1
        branch_in = c_in // 2 if self.split else c_in
        half = c_out // 2
        self.residual = nn.Sequential(
            nn.Conv2d(branch_in, branch_in, 1), nn.BatchNorm2d(branch_in), nn.ReLU(inplace=True),
            nn.Conv2d(branch_in, branch_in, 3, stride=stride, padding=1, groups=branch_in), nn.BatchNorm2d(branch_in),
            nn.Conv2d(branch_in, half, 1), nn.BatchNorm2d(half), nn.ReLU(inplace=True))
        if self.split:
            self.shortcut = nn.Sequential()
        else:
            self.shortcut = nn.Sequential(
                nn.Conv2d(c_in, c_in, 3, stride=stride, padding=1, groups=c_in), nn.BatchNorm2d(c_in),
                nn.Conv2d(c_in, half, 1), nn.BatchNorm2d(half), nn.ReLU(inplace=True))

    def forward(self, x):
        shortcut, residual = x.chunk(2, dim=1) if self.split else (x, x)
        x = torch.cat([self.shortcut(shortcut), self.residual(residual)], dim=1)
        batch, channels, height, width = x.size()
        x = x.view(batch, 2, channels // 2, height, width)
        x = x.transpose(1, 2).contiguous()
        return x.view(batch, -1, height, width)


class ShuffleNetV2Cifar(nn.Module):
    """ShuffleNetV2 x1 for 32x32 images: a 3x3 stem of stride 1 and no max-pooling."""

    def __init__(self, classes=100, widths=(116, 232, 464), repeats=(4, 8, 4), head=1024):
        super().__init__()
        self.pre = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24))
        c_in = 24
        for number, (width, repeat) in enumerate(zip(widths, repeats), start=2):
            units = [ShuffleUnit(c_in, width, 2)] + [ShuffleUnit(width, width, 1) for _ in range(repeat - 1)]
            setattr(self, "stage%d" % number, nn.Sequential(*units))
            c_in = width
        self.conv5 = nn.Sequential(nn.Conv2d(c_in, head, 1), nn.BatchNorm2d(head), nn.ReLU(inplace=True))
        self.fc = nn.Linear(head, classes)

    def forward(self, x):
        x = self.stage4(self.stage3(self.stage2(self.pre(x))))
        x = F.adaptive_avg_pool2d(self.conv5(x), 1)
        return self.fc(torch.flatten(x, 1))


# torchvision documents the parameter count of each of its models beside the weights.
TORCHVISION = "torchvision.models, num_params of the weights' meta data"
MODELS = {
    "resnet50": Entry(lambda: torchvision.models.resnet50(), ("Bx3x224x224",), 256, 25_557_032, TORCHVISION),
    "vgg16": Entry(lambda: torchvision.models.vgg16(init_weights=False), ("Bx3x224x224",), 256, 138_357_544, TORCHVISION),
    "vit_b_16": Entry(lambda: torchvision.models.vit_b_16(), ("Bx3x224x224",), 256, 86_567_656, TORCHVISION),
    "shufflenetv2_cifar100": Entry(lambda: ShuffleNetV2Cifar(), ("Bx3x32x32",), 1024),
}
