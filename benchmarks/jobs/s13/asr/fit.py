import argparse, datetime, json
import torch, torch.distributed as dist
from torch import nn

class Loop:
    def __init__(self, net, opt): self.net, self.opt, self.seen = net, opt, 0
    def info(self, s): print(f"ASR-FIT/{dist.get_rank()}: {s}", flush=True)
    def train_epoch(self, nb):
        for i in range(nb):
            x = torch.randn(20, 40); y = torch.randint(0, 30, (20,))
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.opt.zero_grad(); loss.backward()
            for p in self.net.parameters():
                dist.all_reduce(p.grad); p.grad /= dist.get_world_size()
            self.opt.step(); self.seen += 20
            if i % 6 == 0: self.info(f"batch {i+1}/{nb} ctc {loss.item():.3f}")
    def validate(self):
        with torch.no_grad(): wer = torch.rand(1) * 0.1 + 0.4
        every = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(every, wer)
        self.info(f"wer {torch.stack(every).mean():.3f} after {self.seen} utterances")

ap = argparse.ArgumentParser(); ap.add_argument("--manifest"); m = json.load(open(ap.parse_args().manifest))
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(40, 80), nn.GELU(), nn.Linear(80, 30))
loop = Loop(net, torch.optim.AdamW(net.parameters()))
nb = int(m["hours"][dist.get_rank()] * m["utt_per_hour"]) // m["batch"]
loop.info(f"{m['hours'][dist.get_rank()]} h, {nb} batches per epoch")
for ep in range(3):
    loop.train_epoch(nb); loop.validate()
