import torch
def mel(x, n=8):
    return x.unfold(-1, 16, 8).abs().mean(-1)[..., :n]
