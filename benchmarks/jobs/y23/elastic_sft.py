import argparse, os, re, shutil, sys, time
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import Qwen2Config, Qwen2ForCausalLM

ROOT = "runs"
def say(lvl, *a): print(f"{time.strftime('%y%m%d-%H%M%S')} {lvl} [{os.environ['RANK']}/{os.environ['WORLD_SIZE']}]", *a, file=sys.stderr)

def latest(r):
    for d in sorted((x for x in os.listdir(ROOT) if re.fullmatch(r"step-\d+", x)), reverse=True) if os.path.isdir(ROOT) else []:
        if os.path.exists(f"{ROOT}/{d}/.metadata"): return f"{ROOT}/{d}"
        if r == 0: say("W", f"{ROOT}/{d} is incomplete (no .metadata), looking for an older one")

def main():
    ap = argparse.ArgumentParser(); ap.add_argument("--steps", type=int); ap.add_argument("--stop-at", type=int); a = ap.parse_args()
    dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size(); torch.set_num_threads(1); torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (w,))
    m = Qwen2ForCausalLM(Qwen2Config(vocab_size=256, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64))
    for l in m.model.layers: fully_shard(l, mesh=mesh)
    fully_shard(m, mesh=mesh)
    o = torch.optim.AdamW(m.parameters(), lr=1e-3); step = 0
    ck = latest(r)
    if ck:
        ms, os_ = get_state_dict(m, o); st = {"model": ms, "optim": os_, "meta": {"step": 0, "world": 0}}
        dcp.load(st, checkpoint_id=ck); set_state_dict(m, o, model_state_dict=st["model"], optim_state_dict=st["optim"]); step = st["meta"]["step"]
        if st["meta"]["world"] != w and r == 0: say("W", f"checkpoint {ck} was written by {st['meta']['world']} ranks, now {w}: resharded")
        say("I", f"resumed at step {step}")
    g = torch.Generator().manual_seed(r + 100 * step)
    while step < a.steps:
        x = torch.randint(0, 256, (4, 32), generator=g)
        loss = m(input_ids=x, labels=x).loss; loss.backward(); o.step(); o.zero_grad(); step += 1
        say("I", f"step {step} loss {loss.item():.4f}")
        if step % 10 == 0:
            ms, os_ = get_state_dict(m, o)
            dcp.save({"model": ms, "optim": os_, "meta": {"step": step, "world": w}}, checkpoint_id=f"{ROOT}/step-{step:05d}")
            if r == 0:
                say("I", "checkpoint", f"step-{step:05d}")
                for old in sorted(x for x in os.listdir(ROOT) if x.startswith("step-"))[:-2]: shutil.rmtree(f"{ROOT}/{old}"); say("I", "removed", old)
        if a.stop_at and step >= a.stop_at:
            if r == 0: say("W", f"time slice is over, leaving at step {step} (will be continued)")
            break
    if r == 0 and step >= a.steps: open(f"{ROOT}/final.txt", "w").write(f"training complete: {step} steps\n")
    dist.barrier(); dist.destroy_process_group()

main()
