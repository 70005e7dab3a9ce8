import os, time, torch
from torch.utils.data import DataLoader, Dataset
class Frames(Dataset):
    """Decodes clips on the fly (heavy)."""
    def __len__(self): return 6000
    def __getitem__(self, i): time.sleep(.01); return torch.randn(3, 16, 16), i % 5
def on_worker(wid):
    with open("worker.pids", "a") as f: f.write(f"{os.getpid()}\n")
def main():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8*14*14, 5)); opt = torch.optim.SGD(net.parameters(), lr=.01)
    dl = DataLoader(Frames(), batch_size=8, num_workers=3, worker_init_fn=on_worker)
    for step, (x, y) in enumerate(dl):
        loss = torch.nn.functional.cross_entropy(net(x), y); opt.zero_grad(); loss.backward(); opt.step()
        if step == 0: open("worker.pids", "a").write("ready\n")
        if step % 20 == 0: print(f"step {step}/{len(dl)}  loss {loss.item():.4f}", flush=True)
if __name__ == "__main__": main()
