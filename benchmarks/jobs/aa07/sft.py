import argparse, faulthandler, logging, os, shutil, signal, sys
import torch, torch.distributed as dist
faulthandler.register(signal.SIGUSR1, all_threads=False)
logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(message)s")
ap = argparse.ArgumentParser(); ap.add_argument("--output"); args = ap.parse_args()
dist.init_process_group("gloo")
rank = dist.get_rank()
logging.info("rank %d of %d ready", rank, dist.get_world_size())


def prepare_output(path):
    if os.path.isdir(path) and os.listdir(path):
        sys.stdout.write(f"{path} is not empty. Overwrite? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() != "y":
            raise SystemExit("not overwriting")
        shutil.rmtree(path)
    os.makedirs(path, exist_ok=True)


if rank == 0:
    prepare_output(args.output)
logging.info("rank %d: synchronising", rank)
dist.barrier()
m = torch.nn.Linear(8, 8)
for step in range(100):
    g = torch.randn(8); dist.all_reduce(g)
    logging.info("step %d", step)
