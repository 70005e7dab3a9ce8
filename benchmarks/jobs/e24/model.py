import torch.nn as nn
def build(c):
    layers = []
    for _ in range(c["depth"]):
        layers += [nn.Linear(c["width"], c["width"]), nn.ReLU()]
    return nn.Sequential(*layers)
