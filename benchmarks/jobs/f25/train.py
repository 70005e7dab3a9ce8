import os, time, torch
from accelerate import Accelerator
from accelerate.utils import set_seed
acc = Accelerator(); set_seed(1)
os.makedirs("run", exist_ok=True)
open(f"run/worker{acc.process_index}.pid", "w").write(str(os.getpid()))
m = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.ReLU(), torch.nn.Linear(100, 1)); o = torch.optim.Adam(m.parameters())
dl = torch.utils.data.DataLoader(torch.randn(2000, 100), batch_size=10)
m, o, dl = acc.prepare(m, o, dl)
for i, x in enumerate(dl):
    l = m(x).square().mean(); acc.backward(l); o.step(); o.zero_grad(); time.sleep(0.4)
    print(f"[{acc.process_index}/{acc.num_processes}] it={i} loss={l.item():.4f}", flush=True)
    open(f"run/worker{acc.process_index}.it", "w").write(str(i))
