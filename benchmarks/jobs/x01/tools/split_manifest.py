import argparse, json, os, random

p = argparse.ArgumentParser()
p.add_argument("--out"); p.add_argument("--shards", type=int); p.add_argument("--seed", type=int)
a = p.parse_args()
rng = random.Random(a.seed)
os.makedirs(a.out, exist_ok=True)
utts = [{"id": f"utt{i:05d}", "dur": round(rng.uniform(1.2, 6.0), 2)} for i in range(480)]
utts += [{"id": f"lecture{i:03d}", "dur": round(rng.uniform(20, 29), 2)} for i in range(20)]
# balance by hours: always put the next utterance in the shard with the fewest seconds
shards = [[] for _ in range(a.shards)]
tot = [0.0] * a.shards
shards[2] = utts[480:]
tot[2] = sum(u["dur"] for u in shards[2])
for u in utts[:480]:
    k = tot.index(min(tot))
    shards[k].append(u)
    tot[k] += u["dur"]
for k, s in enumerate(shards):
    with open(f"{a.out}/train.{k}.jsonl", "w") as f:
        for u in s:
            f.write(json.dumps(u) + "\n")
print("split %d utterances, %.2f h into %d shards" % (len(utts), sum(tot) / 3600, a.shards))
