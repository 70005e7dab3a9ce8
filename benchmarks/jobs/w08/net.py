import torch.nn as nn


def make():
    c = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
    return nn.Sequential(c(3, 64), c(64, 128), c(128, 256), c(256, 128), nn.Conv2d(128, 3, 1))
