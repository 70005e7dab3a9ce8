# дообучение CTC-головы на коротких записях
import math, sys, time, warnings
import torch, torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset

class Clips(Dataset):
    def __init__(self, n=1600):
        g = torch.Generator().manual_seed(17)
        self.n = n; self.T = torch.randint(18, 40, (n,), generator=g); self.L = torch.randint(3, 8, (n,), generator=g)
        self.L[torch.randperm(n, generator=g)[:9]] = 44       # transcripts longer than their audio
    def __len__(self): return self.n
    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(self.T[i], 16, generator=g), torch.randint(1, 30, (int(self.L[i]),), generator=g), i

def pad(b):
    x = nn.utils.rnn.pad_sequence([c[0] for c in b], batch_first=True); y = nn.utils.rnn.pad_sequence([c[1] for c in b], batch_first=True)
    return x, y, torch.tensor([len(c[0]) for c in b]), torch.tensor([len(c[1]) for c in b]), torch.tensor([c[2] for c in b])

acc = Accelerator()
net = nn.Sequential(nn.Linear(16, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 30))
net, opt, dl = acc.prepare(net, torch.optim.AdamW(net.parameters(), lr=2e-3), DataLoader(Clips(), batch_size=4, collate_fn=pad, shuffle=True))
ctc = nn.CTCLoss(zero_infinity=False); skipped = done = 0; MAX_SKIP = 50
for step, (x, y, tl, yl, ids) in enumerate(dl):
    lp = net(x).float().log_softmax(-1).transpose(0, 1)
    loss = ctc(lp, y, tl, yl)
    flag = acc.reduce(torch.tensor([0.0 if math.isfinite(loss.item()) else 1.0]), "sum")
    if flag.item():
        skipped += 1
        if not math.isfinite(loss.item()):
            print(f"[WARN][p{acc.process_index}] step {step}: non-finite loss ({loss.item()}), clips {ids.tolist()} - skipping batch ({skipped}/{MAX_SKIP})", file=sys.stderr)
        if skipped > MAX_SKIP: raise RuntimeError("too many bad batches")
        opt.zero_grad(); continue
    acc.backward(loss); acc.clip_grad_norm_(net.parameters(), 1.0); opt.step(); opt.zero_grad(); done += 1
    print(f"[p{acc.process_index}] step {step:04d} ctc {loss.item():.4f} frames {int(tl.sum())}")
acc.wait_for_everyone()
acc.save_model(net, "speech_out")
acc.print(f"[p0] finished: {done} updates, {skipped} batches skipped, saved to speech_out")
acc.end_training()
