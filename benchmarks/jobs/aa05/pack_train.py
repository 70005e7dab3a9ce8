import datetime, json, os, sys, threading, time, traceback
import torch
import torch.distributed as dist
import torch.nn.functional as F

R = int(os.environ["RANK"])
beat = time.monotonic()


def watchdog(limit=6):
    """Dump all Python stacks if the training loop makes no progress."""
    main = threading.main_thread().ident
    dumped = 0
    while True:
        time.sleep(1)
        if time.monotonic() - beat > limit * (dumped + 1):
            dumped += 1
            out = [f"[watchdog rank={R}] no step for {time.monotonic()-beat:.1f}s\n"]
            for tid, frame in sys._current_frames().items():
                if tid == threading.get_ident():
                    continue
                out.append(f"[watchdog rank={R}] thread {'main' if tid == main else tid}\n")
                out += traceback.format_stack(frame)
            sys.stderr.write("".join(out)); sys.stderr.flush()


def pack(docs, length=256, overlap=4):
    """cut documents into windows of `length`, short ones are filled from the next one"""
    row = []
    it = iter(docs)
    for d in it:
        ids = d["ids"]
        pos = 0
        while len(row) < length:
            take = ids[pos:pos + length - len(row)]
            row.extend(take)
            pos += len(take)
            if pos >= len(ids) > 0:
                break
        if len(row) >= length:
            yield d["id"], torch.tensor(row[:length])
            row = row[length - overlap:][:overlap]


def main():
    global beat
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    docs = [json.loads(l) for l in open("docs.jsonl")][R::2]
    emb = torch.nn.Embedding(1000, 32); out = torch.nn.Linear(32, 1000)
    params = list(emb.parameters()) + list(out.parameters())
    for p in params:
        dist.broadcast(p.data, 0)
    threading.Thread(target=watchdog, daemon=True).start()
    for step, (doc, row) in enumerate(pack(docs)):
        loss = F.cross_entropy(out(emb(row[:-1])), row[1:])
        grads = torch.autograd.grad(loss, params)
        for p, g in zip(params, grads):
            dist.all_reduce(g)
            p.data.sub_(g, alpha=0.05)
        beat = time.monotonic()
        if step % 10 == 0:
            print(f"rank={R} step={step} doc={doc} loss={loss.item():.3f}", flush=True)
    print("epoch done", flush=True)


main()
