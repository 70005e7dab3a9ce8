import argparse, json, os, time
import torch, torch.distributed as dist, torch.multiprocessing as mp, torch.nn as nn


def say(rank, *a):
    print(f"<{rank}>", *a, flush=True)


def read_shard(rank, path):
    rows, bad = [], []
    with open(path) as f:
        for no, line in enumerate(f, 1):
            r = json.loads(line)
            if "prompt" in r and "response" in r:
                rows.append((r["prompt"], r["response"]))
            else:
                bad.append((no, sorted(r)))
    say(rank, f"{path}: {len(rows)} Beispiele gelesen")
    if bad:
        for no, keys in bad[:4]:
            say(rank, f"  Zeile {no}: Felder {keys}, erwartet 'prompt' und 'response'")
        say(rank, f"  ... insgesamt {len(bad)} Zeilen ohne 'prompt'/'response', erste Zeile {bad[0][0]}")
    return rows, len(bad)


def worker(rank, world, data):
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(rank)
    t = time.time()
    rows, bad = read_shard(rank, f"{data}/team{rank}.jsonl")
    say(rank, f"Tokenisierung: {sum(len(a.split()) + len(b.split()) for a, b in rows)} Tokens, {time.time() - t:.2f} s")
    if rank == 0:
        vocab = sorted({w for a, b in rows for w in (a + " " + b).split()})
        say(rank, f"Vokabular {len(vocab)} Wörter")
        say(rank, f"Modell: Bigramm, {len(vocab) ** 2} Parameter")
    n = torch.tensor([bad, len(rows) + bad])
    dist.all_reduce(n)
    bad_all, all_rows = n.tolist()
    if bad_all > 0.01 * all_rows:
        raise ValueError(f"{bad_all} von {all_rows} Zeilen in {data}/ haben nicht das Format "
                         "{'prompt': str, 'response': str}; erlaubt sind höchstens 1 %")
    lm = nn.Embedding(64, 64)
    opt = torch.optim.SGD(lm.parameters(), 0.1)
    for step in range(200):
        opt.zero_grad(); lm.weight.pow(2).sum().backward(); opt.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser(); ap.add_argument("--data"); ap.add_argument("--ranks", type=int)
    a = ap.parse_args()
    mp.spawn(worker, (a.ranks, a.data), nprocs=a.ranks)
