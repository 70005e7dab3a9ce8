import os, time, torch
class Clips(torch.utils.data.Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i):
        time.sleep(0.02)
        return torch.randn(3, 8, 8), i % 10

def hello(wid):
    r = os.environ.get("RANK")
    os.makedirs("run", exist_ok=True)
    open(f"run/loader-{r}-{wid}.pid", "w").write(str(os.getpid()))
