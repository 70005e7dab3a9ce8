import os, sys, torch, torch.nn as nn, deepspeed, logging
logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s")
logger = logging.getLogger(__name__)
cfg = {"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
       "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}}}

class TinyLM(nn.Module):
    def __init__(self, vocab=100, d=64):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.h = nn.ModuleList(nn.Linear(d, d) for _ in range(3))
        self.lm_head = nn.Linear(d, vocab, bias=False)
    def forward(self, ids):
        x = self.wte(ids)
        for l in self.h: x = x + torch.tanh(l(x))
        return nn.functional.cross_entropy(self.lm_head(x[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

def main(weights):
    deepspeed.init_distributed("gloo")
    with deepspeed.zero.Init(config_dict_or_path=cfg):
        model = TinyLM()
    logger.info("model created, loading pretrained weights from %s", weights)
    model.load_state_dict(torch.load(weights))
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=cfg)
    for i in range(10):
        loss = engine(torch.randint(0, 100, (2, 16)))
        engine.backward(loss); engine.step()
        logger.info("iter %d loss %.4f", i, loss.item())

if __name__ == "__main__":
    if sys.argv[1] == "init":
        torch.save(TinyLM().state_dict(), sys.argv[2])
    else:
        main(sys.argv[1])
