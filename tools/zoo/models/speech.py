"""Speech recognition."""
import torch
from torch import nn

from .framework import Entry


class BatchRNN(nn.Module):
    """A bidirectional LSTM whose directions are summed, after batch norm over time and batch."""

    def __init__(self, inputs, hidden, norm):
        super().__init__()
        self.batch_norm = nn.BatchNorm1d(inputs) if norm else None
        self.rnn = nn.LSTM(inputs, hidden, bidirectional=True)
        self.hidden = hidden

    def forward(self, x):
        """x (T, B, features)."""
        length, batch, width = x.size()
        if self.batch_norm is not None:
            x = self.batch_norm(x.view(-1, width)).view(length, batch, width)
        x, _ = self.rnn(x)
        return x.view(length, batch, 2, self.hidden).sum(2)


class DeepSpeech2(nn.Module):
    """Amodei et al. 2016: two convolutions over a spectrogram (B, 1, 161, T), five recurrent layers, a dense one."""

    def __init__(self, hidden=1024, layers=5, labels=29):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 32, (41, 11), stride=(2, 2), padding=(20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20, inplace=True),
            nn.Conv2d(32, 32, (21, 11), stride=(2, 1), padding=(10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20, inplace=True))
        features = 32 * 41          # 161 frequencies, halved twice
        self.rnns = nn.Sequential(*[BatchRNN(features if number == 0 else hidden, hidden, number > 0)
                                    for number in range(layers)])
        self.fc = nn.Sequential(nn.BatchNorm1d(hidden), nn.Linear(hidden, labels, bias=False))

    def forward(self, spectrogram):
        x = self.conv(spectrogram)
        batch, channels, height, length = x.size()
        x = x.view(batch, channels * height, length).permute(2, 0, 1).contiguous()
        x = self.rnns(x)
        length, batch, width = x.size()
        return self.fc(x.view(-1, width)).view(length, batch, -1).transpose(0, 1).log_softmax(dim=-1)


MODELS = {"deepspeech2": Entry(lambda: DeepSpeech2(), ("Bx1x161x1600",), 32, shrink={1600: (40, 60)})}
