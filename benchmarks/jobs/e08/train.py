import os, time
import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
import logging
logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = get_logger(__name__)

class Clips(torch.utils.data.Dataset):
    def __len__(self):
        return 4000
    def __getitem__(self, i):
        info = torch.utils.data.get_worker_info()
        with open(f"workers/{os.environ['RANK']}.{info.id}", "w") as f:
            f.write(str(os.getpid()))
        time.sleep(0.02)
        g = torch.Generator().manual_seed(i)
        return torch.randn(3, 16, 16, generator=g), i % 5

def main():
    acc = Accelerator(cpu=True)
    os.makedirs("workers", exist_ok=True)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(5))
    model(torch.zeros(1, 3, 16, 16))
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    dl = torch.utils.data.DataLoader(Clips(), batch_size=8, num_workers=2, shuffle=True)
    model, opt, dl = acc.prepare(model, opt, dl)
    logger.info("***** Running training *****")
    logger.info(f"  Num examples = 4000, batches per process = {len(dl)}")
    for step, (x, y) in enumerate(dl):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        acc.backward(loss); opt.step(); opt.zero_grad()
        if step % 10 == 0:
            logger.info(f"step {step}: loss {loss.item():.4f}")
        if acc.process_index == 1:
            open("workers/step", "w").write(str(step))
    acc.end_training()

if __name__ == "__main__":
    main()
