# -*- coding: utf-8 -*-
# Посимвольная модель. Запуск через mpirun, градиенты усредняем сами одним вектором.
import os, sys, configparser, datetime
import torch
from torch import nn
import torch.distributed as dist

R = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
W = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
os.environ.update(RANK=str(R), WORLD_SIZE=str(W))


def p(*a):
    sys.stdout.write("<%d/%d> " % (R, W) + " ".join(map(str, a)) + "\n"); sys.stdout.flush()


opts = dict(x.split("=", 1) for x in sys.argv[1:])
cfg = configparser.ConfigParser()
cfg.read([opts["profile"], opts["local"].replace("%r", str(R))])
m, t = cfg["model"], cfg["train"]
D, F, L, T = m.getint("d_model"), m.getint("ffn"), m.getint("n_layer"), m.getint("context")
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=t.getint("timeout")))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(96, D)
        self.b = nn.ModuleList(nn.TransformerEncoderLayer(D, 4, F, 0.0, batch_first=True) for _ in range(L))
        self.o = nn.Linear(D, 96)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        h = self.e(x)
        for b in self.b:
            h = b(h, src_mask=mask, is_causal=True)
        return self.o(h)


torch.manual_seed(5)
net = LM()
n = sum(q.numel() for q in net.parameters())
p("run", opts["run"], "| d_model", D, "ffn", F, "layers", L, "ctx", T, "| params", format(n, ","), "| lr", t["lr"])
opt = torch.optim.Adam(net.parameters(), lr=t.getfloat("lr"))
g = torch.Generator().manual_seed(R)
for step in range(t.getint("steps")):
    x = torch.randint(0, 96, (t.getint("batch"), T + 1), generator=g)
    loss = nn.functional.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad(); loss.backward()
    flat = torch.cat([q.grad.flatten() for q in net.parameters()])
    dist.all_reduce(flat); flat /= W
    k = 0
    for q in net.parameters():
        q.grad.copy_(flat[k:k + q.numel()].view_as(q)); k += q.numel()
    opt.step()
    if step % 10 == 0:
        p("step", step, "loss", round(loss.item(), 4))
p("готово")
