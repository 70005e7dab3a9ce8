import os, torch, torch.nn as nn, logging
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
logging.basicConfig(format="%(asctime)s | %(levelname)s | %(name)s | %(message)s", level=logging.INFO)
logger = get_logger(__name__)

def main():
    acc = Accelerator(cpu=True, project_dir="results")
    set_seed(1)
    net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512))
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    dl = torch.utils.data.DataLoader(torch.randn(640, 512), batch_size=16, shuffle=True)
    net, opt, dl = acc.prepare(net, opt, dl)
    step = 0
    for ep in range(4):
        for b in dl:
            loss = (net(b) - b).pow(2).mean()
            acc.backward(loss); opt.step(); opt.zero_grad(); step += 1
            if step % 5 == 0:
                logger.info("step %d loss %.4f", step, loss.item())
            if step % 10 == 0:
                acc.save_state(f"results/step_{step}")
                logger.info("saved step_%d", step)
main()
