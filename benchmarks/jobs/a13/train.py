import os, logging, argparse
import numpy as np, torch, torch.nn as nn, torch.distributed as dist

def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data-dir", default="data")
    p.add_argument("--seq", type=int, default=32)
    p.add_argument("--iters", type=int, default=400)
    return p.parse_args()

class TokenStream:
    def __init__(self, folder, rank, seq):
        self.arr = np.memmap(os.path.join(folder, f"tokens_{rank:02d}.bin"), dtype=np.uint16, mode="r")
        self.seq = seq
    def batch(self, n):
        ix = np.random.randint(0, len(self.arr) - self.seq - 1, n)
        return torch.from_numpy(np.stack([self.arr[i:i + self.seq + 1] for i in ix]).astype(np.int64))

def main():
    args = parse()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(message)s")
    logging.info("rank %d (local %s) of %d on node %s", rank, os.environ["LOCAL_RANK"], dist.get_world_size(), os.environ.get("NODE_NAME"))
    stream = TokenStream(args.data_dir, rank, args.seq)
    logging.info("%d tokens", len(stream.arr))
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(512, 32), nn.Linear(32, 512)))
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    for it in range(args.iters):
        b = stream.batch(8)
        loss = nn.functional.cross_entropy(model(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
        opt.zero_grad(); loss.backward(); opt.step()
        if it % 20 == 0:
            logging.info("it %d loss %.3f", it, loss.item())

main()
