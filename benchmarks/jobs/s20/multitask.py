import logging, random
import torch
from torch import nn
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed

logging.basicConfig(format="%(asctime)s - %(name)s - %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
log = get_logger("multitask")


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(30, 64), nn.ReLU())
        self.topic, self.tone = nn.Linear(64, 8), nn.Linear(64, 3)

    def forward(self, x, topic=None, tone=None):
        h, loss = self.trunk(x), 0.0
        if topic is not None: loss = loss + nn.functional.cross_entropy(self.topic(h), topic)
        if tone is not None: loss = loss + nn.functional.cross_entropy(self.tone(h), tone)
        return loss


acc = Accelerator(cpu=True)
set_seed(9)
r = acc.process_index
rng = random.Random(70 + r)
# the tone annotation of part 2 is only there for some of the batches
have_tone = [True] * 120 if r != 2 else [k < 33 or rng.random() < .8 for k in range(120)]
log.info("part %d: %d batches, %d with topic, %d with tone", r, 120, 120, sum(have_tone), main_process_only=False)
model, opt = acc.prepare(TwoHeads(), torch.optim.AdamW(TwoHeads().parameters()))
opt = torch.optim.AdamW(model.parameters(), 1e-3)
for k in range(120):
    x = torch.randn(16, 30)
    loss = model(x, torch.randint(0, 8, (16,)), torch.randint(0, 3, (16,)) if have_tone[k] else None)
    opt.zero_grad(); acc.backward(loss); opt.step()
    if k % 5 == 0: log.info("batch %d loss %.3f", k, loss.item(), main_process_only=False)
acc.wait_for_everyone(); acc.end_training()
