import os, time, logging, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Throughput:
    def __init__(self): self.t, self.n = time.time(), 0
    def update(self, n): self.n += n
    def rate(self): return self.n / (time.time() - self.t)

def main():
    dist.init_process_group("gloo")
    logging.basicConfig(format="%(asctime)s | %(levelname)s | %(message)s", level=logging.INFO if dist.get_rank() == 0 else logging.ERROR)
    m = DDP(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)); o = torch.optim.AdamW(m.parameters())
    tp = Throughput()
    for it in range(2000):
        x = torch.randn(4, 32, 64); loss = (m(x) - x).abs().mean()
        o.zero_grad(); loss.backward(); o.step(); tp.update(4 * 32 * dist.get_world_size()); time.sleep(0.2)
        if it % 5 == 0: logging.info("iteration %6d/2000 | lm loss %.4E | tokens/s %.1f", it, loss.item(), tp.rate())

if __name__ == "__main__":
    main()
