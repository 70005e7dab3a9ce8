import os, glob, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
r = dist.get_rank()
class Mixture:
    def __init__(self):
        self.paths = sorted(glob.glob(f"bins/{r}/*.bin")); self.open = {}
        print("files", len(self.paths), flush=True)
    def read(self, k):
        p = self.paths[k % len(self.paths)]
        if p not in self.open:
            self.open[p] = open(p, "rb")
        self.open[p].seek(0)
        return torch.frombuffer(bytearray(self.open[p].read(256)), dtype=torch.uint8).float()
mix = Mixture()
net = torch.nn.Linear(256, 4)
for step in range(40):
    x = torch.stack([mix.read(step * 16 + j) for j in range(16)])
    loss = net(x / 255).pow(2).mean(); net.zero_grad(); loss.backward()
    dist.all_reduce(net.weight.grad)
    print(f"step {step} loss {loss.item():.4f} open {len(mix.open)}", flush=True)
