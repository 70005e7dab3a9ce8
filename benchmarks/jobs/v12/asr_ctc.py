import os, logging, datetime
import torch
import torch.distributed as dist
r, w = os.environ["RANK"], os.environ["WORLD_SIZE"]
logging.basicConfig(format=f"%(levelname).1s%(asctime)s asr {r}/{w}] %(message)s", datefmt="%m%d %H:%M:%S", level=logging.INFO)
torch.manual_seed(1)
enc = torch.nn.LSTM(40, 64, batch_first=True)
out = torch.nn.Linear(64, 29)
logging.info("encoder %d parameters", sum(p.numel() for p in enc.parameters()))
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=7))
logging.info("init done")
params = list(enc.parameters()) + list(out.parameters())
opt = torch.optim.Adam(params, 1e-3)
for it in range(60):
    h, _ = enc(torch.randn(4, 50, 40))
    lp = out(h).log_softmax(-1).transpose(0, 1)
    loss = torch.nn.functional.ctc_loss(lp, torch.randint(1, 29, (4, 10)), torch.full((4,), 50), torch.full((4,), 10))
    opt.zero_grad(); loss.backward()
    for p in params:
        dist.all_reduce(p.grad); p.grad /= dist.get_world_size()
    opt.step()
    if it % 5 == 0:
        logging.info("it=%d ctc=%.3f", it, loss.item())
