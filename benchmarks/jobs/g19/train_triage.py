import argparse, json, torch, hashlib
from accelerate import Accelerator
p = argparse.ArgumentParser(); p.add_argument("--show", type=int); a = p.parse_args()
acc = Accelerator(cpu=True)
rows = [json.loads(l) for l in open("tickets.jsonl")]
labels = sorted({r["label"] for r in rows})
def feat(t):
    v = torch.zeros(256)
    for w in t.split(): v[int(hashlib.md5(w.encode()).hexdigest(), 16) % 256] += 1
    return v
X = torch.stack([feat(r["text"]) for r in rows]); Y = torch.tensor([labels.index(r["label"]) for r in rows])
acc.print(f"{len(rows)} tickets, {len(labels)} labels")
for r in rows[: a.show]:
    acc.print(f"--- sample (label={r['label']}) ---\n{r['text']}")
m = torch.nn.Linear(256, len(labels)); o = torch.optim.Adam(m.parameters(), 3e-2); m, o = acc.prepare(m, o)
for ep in range(10):
    l = torch.nn.functional.cross_entropy(m(X), Y); o.zero_grad(); acc.backward(l); o.step()
    acc.print(f"epoch {ep}: loss={l.item():.4f} acc={(m(X).argmax(1) == Y).float().mean():.2f}")
acc.print("predictions on the last tickets:")
for r, q in zip(rows[-3:], m(X[-3:]).argmax(1)): acc.print(f"  {labels[q]:12s} <- {r['text'].splitlines()[-1]}")
acc.end_training()
