#!/usr/bin/env python3
"""Write unsupported.pt: a small traced model with three uses of two operators that no handler counts."""
import json
import os
import torch


class Mix(torch.nn.Module):
    def forward(self, x):
        return torch.poisson(torch.poisson(x))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)
        self.mix = Mix()

    def forward(self, x):
        return torch._standard_gamma(self.mix(self.fc(x)))


net = Net()
with torch.no_grad():  # one element stands for all: weight data is never read
    for p in net.parameters():
        p.set_(torch.zeros(1).expand(p.shape))
traced = torch.jit.trace(net, torch.zeros(2, 8, 8), check_trace=False)
extra = {"adept.json": json.dumps({"inputs": ["Bx8x8"], "batch": 2})}
torch.jit.save(traced, os.path.join(os.path.dirname(os.path.abspath(__file__)), "unsupported.pt"), _extra_files=extra)
