import os, time, torch
from accelerate import Accelerator
from tqdm.auto import tqdm
acc = Accelerator(cpu=True)
os.makedirs("proc", exist_ok=True)
m = torch.nn.LSTM(12, 24, batch_first=True); head = torch.nn.Linear(24, 1)
net = torch.nn.ModuleList([m, head])
class Net(torch.nn.Module):
    def __init__(s): super().__init__(); s.m, s.h = m, head
    def forward(s, x): return s.h(s.m(x)[0][:, -1])
ds = torch.utils.data.TensorDataset(torch.randn(1600, 9, 12), torch.randn(1600, 1))
net, opt, dl = acc.prepare(Net(), torch.optim.RMSprop(net.parameters(), 1e-3), torch.utils.data.DataLoader(ds, 8, shuffle=True))
acc.print(f"process group of {acc.num_processes}")
for n, (x, y) in enumerate(tqdm(dl, disable=not acc.is_local_main_process)):
    loss = (net(x) - y).pow(2).mean(); opt.zero_grad(); acc.backward(loss); opt.step()
    with open(f"proc/{acc.process_index}", "w") as f: f.write(f"{os.getpid()} {n}")
    time.sleep(0.2)
