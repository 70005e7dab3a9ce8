import torch, math
from accelerate import Accelerator
from torch.utils.data import TensorDataset, DataLoader
from tqdm import tqdm
acc = Accelerator(gradient_accumulation_steps=2)
torch.manual_seed(1)
x = torch.randn(640, 8); y = x.sum(1, keepdim=True).sin()
dl = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
m = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
m, opt, dl = acc.prepare(m, opt, dl)
for ep in range(3):
    tot = 0
    for bx, by in tqdm(dl, disable=not acc.is_main_process, desc=f"epoch {ep}"):
        with acc.accumulate(m):
            loss = (m(bx) - by).pow(2).mean()
            acc.backward(loss); opt.step(); opt.zero_grad()
        tot += loss.item()
    acc.print(f"epoch {ep} mean loss {tot/len(dl):.4f}")
acc.wait_for_everyone()
acc.save_model(m, "output")
acc.print("model saved to output/")
