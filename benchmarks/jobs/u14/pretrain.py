import argparse
import deepspeed
import torch
from deepspeed.utils import logger
from torch import nn


class Tiny(nn.Module):
    def __init__(self, v=256, d=64, n=2):
        super().__init__()
        self.e = nn.Embedding(v, d)
        self.b = nn.ModuleList(nn.TransformerEncoderLayer(d, 4, 4 * d, batch_first=True) for _ in range(n))
        self.o = nn.Linear(d, v)

    def forward(self, x):
        h = self.e(x[:, :-1])
        m = nn.Transformer.generate_square_subsequent_mask(h.shape[1])
        for blk in self.b:
            h = blk(h, src_mask=m, is_causal=True)
        return nn.functional.cross_entropy(self.o(h).flatten(0, 1), x[:, 1:].flatten())


def corpus(n=4096, t=33):
    g = torch.Generator().manual_seed(0)
    start = torch.randint(0, 256, (n, 1), generator=g)
    return (start + 7 * torch.arange(t)) % 256


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--local_rank", type=int, default=-1)
    p = deepspeed.add_config_arguments(p)
    a = p.parse_args()
    deepspeed.init_distributed("gloo")
    data = corpus()
    logger.info(f"corpus {tuple(data.shape)}")
    net = Tiny(n=a.layers)
    engine, _, loader, _ = deepspeed.initialize(args=a, model=net, model_parameters=net.parameters(), training_data=data)
    for ep in range(2):
        for x in loader:
            loss = engine(x)
            engine.backward(loss)
            engine.step()
        logger.info(f"epoch {ep} loss {loss.item():.4f}")
    engine.save_checkpoint("ckpt")


if __name__ == "__main__":
    main()
