import glob, json, os, time, sys
import torch, torch.distributed as dist

rank = int(os.environ["RANK"])
T0 = time.time()

def emit(event, **kw):
    print(json.dumps({"t": round(time.time() - T0, 2), "rank": rank, "event": event, **kw}), flush=True)

def batches(files, bs=32):
    buf = []
    for fn in files:
        for line in open(fn):
            buf.append(json.loads(line))
            if len(buf) == bs:
                yield torch.tensor([b["x"] for b in buf]), torch.tensor([[float(b["y"])] for b in buf])
                buf = []

dist.init_process_group("gloo")
emit("init", world=dist.get_world_size(), host="ranker-%d" % rank, torch=torch.__version__)
pattern = f"export/node={rank:02d}/clicks-*.jsonl"
files = sorted(glob.glob(pattern))
emit("data", pattern=pattern, files=len(files), bytes=sum(os.path.getsize(f) for f in files))
torch.manual_seed(0)
w = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(w.parameters(), lr=0.2)
step = 0
for epoch in range(5):
    for x, y in batches(files):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(w(x), y)
        opt.zero_grad(); loss.backward()
        for q in w.parameters():
            dist.all_reduce(q.grad); q.grad /= dist.get_world_size()
        opt.step(); step += 1
        if step % 10 == 0:
            emit("step", step=step, loss=round(loss.item(), 5))
emit("train_end", steps=step)
