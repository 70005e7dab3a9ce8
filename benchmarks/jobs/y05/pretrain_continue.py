# -*- coding: utf-8 -*-
# Продолжение обучения: каждый процесс хранит своё состояние данных и ГСЧ
import argparse, glob, json, os, time
import torch, torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel

RANK = int(os.environ["OMPI_COMM_WORLD_RANK"]); WORLD = int(os.environ["OMPI_COMM_WORLD_SIZE"])

def log(**kw):
    print(json.dumps({"t": round(time.time(), 2), "rank": RANK, **kw}, ensure_ascii=False))

def newest():
    d = sorted(glob.glob("ckpt/step_*/meta.json"))
    return os.path.dirname(d[-1]) if d else None

def save(step, model, opt, pos):
    d = f"ckpt/step_{step:06d}"; os.makedirs(d, exist_ok=True)
    if RANK == 0: torch.save({"model": model.state_dict(), "optim": opt.state_dict()}, f"{d}/trainer.pt")
    torch.save({"pos": pos, "rng": torch.get_rng_state()}, f"{d}/data_rank{RANK:05d}.pt")
    dist.barrier()
    if RANK == 0: json.dump({"step": step, "world_size": WORLD}, open(f"{d}/meta.json", "w"))
    log(event="saved", dir=d)

def main():
    until = argparse.ArgumentParser(); until.add_argument("--until", type=int); until = until.parse_args().until
    dist.init_process_group("gloo", rank=RANK, world_size=WORLD)
    torch.manual_seed(0); torch.set_num_threads(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
    params = list(model.parameters())
    step, ck = 0, newest()
    if ck:
        meta = json.load(open(f"{ck}/meta.json")); step = meta["step"]
        if RANK == 0: log(event="resume", dir=ck, meta=meta)
    opt = torch.optim.AdamW(params, lr=1e-3)
    torch.manual_seed(1000 + RANK); pos = 0
    if ck:
        st = torch.load(f"{ck}/trainer.pt"); model.load_state_dict(st["model"]); opt.load_state_dict(st["optim"])
        ds = torch.load(f"{ck}/data_rank{RANK:05d}.pt")
        pos = ds["pos"]; torch.set_rng_state(ds["rng"])
        log(event="data_state_restored", pos=pos)
    while step < until:
        x = torch.randint(0, 128, (4, 32))
        loss = model(input_ids=x, labels=x).loss; loss.backward()
        for p in params: dist.all_reduce(p.grad); p.grad /= WORLD
        opt.step(); opt.zero_grad()
        step += 1; pos += 4
        if step % 10 == 0: log(event="train", step=step, loss=round(loss.item(), 4))
    save(step, model, opt, pos)
    dist.barrier(); dist.destroy_process_group()

main()
