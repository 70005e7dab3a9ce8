import numpy as np, torch
from datetime import timedelta
from accelerate import Accelerator, InitProcessGroupKwargs
from torch import nn

acc = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(seconds=9))])
region = ("emea", "apac", "latam")[acc.process_index]
z = np.load(region + ".npz")
x, y = torch.tensor(z["x"]), torch.tensor(z["y"])
print(f"{region}: process {acc.process_index}/{acc.num_processes} {acc.device} {tuple(x.shape)}", flush=True)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), 5e-3)
model, opt = acc.prepare(model, opt)
lossf = nn.BCEWithLogitsLoss()
best, bad = 9e9, 0
for ep in range(25):
    model.train()
    for i in range(0, 600, 30):
        opt.zero_grad()
        loss = lossf(model(x[i:i + 30])[:, 0], y[i:i + 30])
        acc.backward(loss)
        opt.step()
    model.eval()
    with torch.no_grad():
        v = lossf(acc.unwrap_model(model)(x[600:])[:, 0], y[600:]).item()
    if v < best - 1e-4:
        best, bad = v, 0
    else:
        bad += 1
    print(f"{region}: epoch {ep} val {v:.4f} best {best:.4f} patience {bad}/4", flush=True)
    if bad == 4:
        break
score = acc.gather(torch.tensor([best]))
if acc.is_main_process:
    print("val per region", score.tolist())
    torch.save(acc.unwrap_model(model).state_dict(), "churn.pt")
acc.end_training()
