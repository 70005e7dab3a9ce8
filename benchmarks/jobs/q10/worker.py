import os, json, torch, torch.distributed as dist
R = int(os.environ["RANK"])
dist.init_process_group("gloo")
w = torch.nn.Linear(30, 3); opt = torch.optim.SGD(w.parameters(), 0.1, momentum=0.9)
os.setgroups([]); os.setgid(65534); os.setuid(65534)      # never write results as root
print(f"running as uid {os.getuid()}")
for s in range(31):
    loss = (w(torch.randn(16, 30)) - 1).square().mean(); opt.zero_grad(); loss.backward()
    for p in w.parameters(): dist.all_reduce(p.grad); p.grad /= 4
    opt.step()
    if s % 10 == 0:
        print(f"{s} {loss.item():.5f}", flush=True)
        with open(f"out/p{R}/metrics.jsonl", "a") as f: f.write(json.dumps({"s": s, "loss": loss.item()}) + "\n")
    dist.barrier()
