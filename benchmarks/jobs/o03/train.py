import argparse, time, torch, torch.nn as nn
def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--compile", action="store_true"); p.add_argument("--epochs", type=int, default=1); p.add_argument("--lr", type=float, default=1e-3)
    return p.parse_args()
class Net(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10))
    def forward(self, x): return self.body(x)
def main():
    a = parse(); torch.manual_seed(0)
    net = Net(); print(f"params: {sum(p.numel() for p in net.parameters())/1e3:.1f}K  torch {torch.__version__}")
    if a.compile:
        print("compiling model (first step is slow)"); net = torch.compile(net)
    opt = torch.optim.AdamW(net.parameters(), lr=a.lr)
    for ep in range(a.epochs):
        t = time.time()
        for it in range(50):
            x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward(); opt.step(); opt.zero_grad()
        print(f"epoch {ep} loss {loss.item():.4f} {time.time()-t:.1f}s")
if __name__ == "__main__": main()
