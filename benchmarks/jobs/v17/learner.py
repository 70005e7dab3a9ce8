import os, sys, time, datetime, logging
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format="%(asctime)s,learner" + str(rank) + ",%(message)s", datefmt="%H:%M:%S")
with open(f"run/{rank}.pid", "w") as f: f.write(str(os.getpid()))
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
logging.info("pid=%d,host=%s", os.getpid(), os.uname().nodename)
torch.manual_seed(0)
pi = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4)))
opt = torch.optim.RMSprop(pi.parameters(), 1e-3)
for upd in range(400):
    s = torch.randn(32, 8)
    logp = pi(s).log_softmax(-1)
    a = torch.distributions.Categorical(logits=logp).sample()
    ret = (s[:, :4].gather(1, a[:, None]).squeeze(1))
    loss = -(logp.gather(1, a[:, None]).squeeze(1) * ret).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.05)
    if upd % 4 == 0:
        logging.info("upd=%d,ret=%.3f,ent=%.3f", upd, ret.mean(), -(logp.exp() * logp).sum(-1).mean())
