import argparse, os, random, sys
import torch
import torch.distributed as dist

rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
size = int(os.environ["OMPI_COMM_WORLD_SIZE"])


def out(s):
    sys.stdout.write(f"w2v.{rank}> {s}\n")


class Vocab:
    def __init__(self, path):
        toks = sorted({w for line in open(path) for w in line.split()})
        self.ix = {t: i for i, t in enumerate(toks)}

    def encode(self, line):
        return [self.ix[w] for w in line.split()]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--steps", type=int, default=300)
    a = ap.parse_args()
    dist.init_process_group("gloo", rank=rank, world_size=size)
    vocab = Vocab("corpus_0.txt")          # all shards share the vocabulary
    out(f"vocab {len(vocab.ix)}")
    torch.manual_seed(0)
    emb = torch.nn.Embedding(len(vocab.ix), a.dim)
    ctx = torch.nn.Linear(a.dim, len(vocab.ix))
    params = [*emb.parameters(), *ctx.parameters()]
    opt = torch.optim.SGD(params, lr=0.5)
    lines = open(f"corpus_{rank}.txt").read().splitlines()
    per = 3
    for step in range(a.steps):
        enc = torch.tensor([vocab.encode(l) for l in lines[step * per:(step + 1) * per]])
        c, t = enc[:, :-1].reshape(-1), enc[:, 1:].reshape(-1)
        loss = torch.nn.functional.cross_entropy(ctx(emb(c)), t)
        opt.zero_grad()
        loss.backward()
        for p in params:
            dist.all_reduce(p.grad)
            p.grad /= size
        opt.step()
        out(f"step {step:04d} nll {loss.item():.4f} |g| {sum(p.grad.norm().item() for p in params):.4f}")
    dist.destroy_process_group()


main()
