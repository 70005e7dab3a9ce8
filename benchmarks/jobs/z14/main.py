import logging, os, socket, sys, yaml, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

node = os.environ["NODE_NAME"]
logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=f"{{}} %(asctime)s | %(name)s | %(message)s".replace("{}", node))
lg = logging.getLogger("обучение")


class LM(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.emb = nn.Embedding(c["vocab"], c["d_model"])
        layer = nn.TransformerEncoderLayer(c["d_model"], c["n_head"], 128, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, c["n_layer"], enable_nested_tensor=False)
        self.out = nn.Linear(c["d_model"], c["vocab"])

    def forward(self, x):
        return self.out(self.enc(self.emb(x)))


cfg = yaml.safe_load(open(f"etc/{node}/model.yaml"))
lg.info("конфигурация: %s", cfg)
dist.init_process_group("gloo")
lg.info("ранг %d из %d", dist.get_rank(), dist.get_world_size())
m = LM(cfg)
lg.info("параметров: %d", sum(p.numel() for p in m.parameters()))
m = DistributedDataParallel(m)
opt = torch.optim.AdamW(m.parameters(), 3e-4)
for i in range(50):
    x = torch.randint(0, cfg["vocab"], (8, 24))
    loss = nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten())
    opt.zero_grad(); loss.backward(); opt.step()
    if i % 10 == 0:
        lg.info("шаг %d потеря %.3f", i, loss.item())
dist.destroy_process_group()
