import time, torch, torch.nn as nn, torch.distributed as dist
from tqdm import tqdm
dist.init_process_group("gloo")
net = nn.parallel.DistributedDataParallel(nn.Linear(100, 100))
opt = torch.optim.SGD(net.parameters(), 0.01)
bar = tqdm(range(500), disable=dist.get_rank() != 0, mininterval=1)
for i in bar:
    loss = net(torch.randn(4, 100)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    bar.set_postfix(loss=f"{loss.item():.3f}")
    time.sleep(0.1)
