import os, torch, torch.distributed as dist
from verify import verify
r = int(os.environ["OMPI_COMM_WORLD_RANK"]); w = int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29837", rank=r, world_size=w)
net = torch.nn.Linear(64, 2)
for ep in range(3):
    p = verify(f"ep{ep}/{r}.bin", "manifest.json")
    x = torch.frombuffer(bytearray(open(p, "rb").read()), dtype=torch.uint8).float().view(-1, 64) / 255
    for i, b in enumerate(x.split(16)):
        loss = net(b).pow(2).mean(); net.zero_grad(); loss.backward()
        dist.all_reduce(net.weight.grad)
        net.weight.data -= 0.1 * net.weight.grad / w
        print(f"epoch {ep} batch {i} loss {loss.item():.4f}", flush=True)
