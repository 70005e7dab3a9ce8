import torch, torch.distributed as dist
from tqdm import tqdm

class Trainer:
    def __init__(self, max_epochs, strategy="ddp"):
        self.max_epochs, self.strategy = max_epochs, strategy
    def say(self, s): print(f"[spark rank={dist.get_rank()}] {s}", flush=True)
    def fit(self, module, data):
        self.say(f"strategy={self.strategy} world={dist.get_world_size()} data: {data.summary()}")
        model = torch.nn.parallel.DistributedDataParallel(module)
        opt = torch.optim.AdamW(model.parameters(), 2e-3)
        for ep in range(self.max_epochs):
            bar = tqdm(data, disable=dist.get_rank() != 0, desc=f"epoch {ep}", ncols=80, mininterval=0.5)
            for x in bar:
                loss = model(x); opt.zero_grad(); loss.backward(); opt.step()
                bar.set_postfix(loss=f"{loss.item():.3f}")
