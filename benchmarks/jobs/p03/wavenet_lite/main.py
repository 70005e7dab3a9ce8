import argparse, glob, os, sys, traceback
import torch, torch.distributed as dist

def say(msg, lvl="I"):
    print(f"{lvl}|{dist.get_rank()}/{dist.get_world_size()}|{msg}", flush=True)

def restore(model, run_dir):
    cands = sorted(glob.glob(f"{run_dir}/step_*.pt"), reverse=True)
    say(f"found {len(cands)} checkpoints in {run_dir}")
    last = None
    for p in cands:
        try:
            st = torch.load(p, map_location="cpu")
            model.load_state_dict(st["model"])
            say(f"restored {p} (step {st['step']})")
            return st["step"]
        except Exception as e:
            last = e
            say(f"{p} not usable: {type(e).__name__}: {e}", "W")
    if last is not None:
        raise RuntimeError(f"none of the {len(cands)} checkpoints in {run_dir} could be loaded, refusing to start from scratch") from last
    return 0

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume"); ap.add_argument("--run-dir")
    a = ap.parse_args()
    r, w = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    dist.init_process_group("gloo", rank=r, world_size=w)
    try:
        import soundfile  # noqa
    except ImportError:
        say("soundfile is not installed, reading .npy clips only", "W")
    model = torch.nn.Conv1d(64, 256, 9)
    say("model has %d parameters" % sum(p.numel() for p in model.parameters()))
    # warm-up of the collectives
    for i in range(12):
        t = torch.ones(1 << i); dist.all_reduce(t)
        if r == 0:
            say(f"allreduce check {1 << i} floats ok")
    step = restore(model, a.run_dir)
    dist.barrier()
    say(f"starting at {step}")

main()
