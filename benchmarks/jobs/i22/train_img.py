import random, sys, time, warnings, numpy as np, torch, torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import Dataset, DataLoader
from tqdm.auto import tqdm
class Images(Dataset):
    def __len__(self): return 96
    def __getitem__(self, i):
        for k in range(3):
            try: return torch.from_numpy(np.load(f"img/{i:03d}.npy")), i % 5
            except (OSError, EOFError) as e:
                print(f"ERROR [worker {torch.utils.data.get_worker_info().id}] img/{i:03d}.npy: {type(e).__name__}: {e} (attempt {k+1}/3)", file=sys.stderr, flush=True); time.sleep(.1)
        warnings.warn(f"img/{i:03d}.npy unreadable, a random image is used instead")
        return self[random.randrange(30)]
acc = Accelerator(cpu=True)
dl = DataLoader(Images(), batch_size=8, shuffle=True, num_workers=4, pin_memory=True)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5)); opt = torch.optim.Adam(net.parameters(), 1e-3)
sch = torch.optim.lr_scheduler.StepLR(opt, 2); sch.step()
net, opt, dl = acc.prepare(net, opt, dl)
for ep in range(2):
    bar = tqdm(dl, desc=f"Epoch {ep}", disable=not acc.is_main_process, file=sys.stdout)
    for x, y in bar:
        loss = nn.functional.cross_entropy(net(x), y); acc.backward(loss); opt.step(); opt.zero_grad(); bar.set_postfix(loss=f"{loss.item():.3f}")
acc.wait_for_everyone(); acc.end_training()
