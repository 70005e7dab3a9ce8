import torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank()
m = torch.nn.parallel.DistributedDataParallel(torch.nn.GRU(8, 8, batch_first=True)); o = torch.optim.AdamW(m.parameters(), 1e-2)
for s in range(1, 21):
    x = torch.randn(4, 10, 8); l = (m(x)[0] - x.roll(1, 1)).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if r == 0 and s % 4 == 0: print(f"第 {s}/20 步  损失 {l.item():.4f}", flush=True)
if r == 0: torch.save(m.module.state_dict(), "gru.pt"); print("训练完成，模型已保存到 gru.pt")
dist.destroy_process_group()
