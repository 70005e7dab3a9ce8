import sys, json
import numpy as np, torch, torch.distributed as dist
dist.init_process_group("gloo")
tokens = np.fromfile(sys.argv[1], dtype=np.uint16)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Embedding(256, 32))
opt = torch.optim.SGD(net.parameters(), 0.1)
steps = 0
for i in range(0, len(tokens) - 65, 64):
    loss = net(torch.from_numpy(tokens[i:i + 64].astype("int64"))).pow(2).mean()
    loss.backward(); opt.step(); opt.zero_grad(); steps += 1
if dist.get_rank() == 0:
    print(f"trained {steps} steps on {len(tokens)} tokens")
    json.dump({"steps": steps, "tokens": len(tokens), "loss": None if not steps else loss.item()}, open("work/metrics.json", "w"))
dist.destroy_process_group()
