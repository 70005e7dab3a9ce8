import json, logging, os, sys
import torch, torch.distributed as dist
import jsonlog; jsonlog.setup()
log = logging.getLogger("smalllm.run"); R = {"rank": int(os.environ["RANK"])}
def build(c):
    layer = torch.nn.TransformerEncoderLayer(c["d_model"], c["n_head"], 4 * c["d_model"], batch_first=True)
    return torch.nn.TransformerEncoder(layer, c["n_layer"])
def main():
    cfg = json.load(open(sys.argv[1]))
    log.info("config loaded: %s", cfg, extra=R)
    dist.init_process_group("gloo")
    log.info("rendezvous complete, world_size=%d", dist.get_world_size(), extra=R)
    m = torch.nn.parallel.DistributedDataParallel(build(cfg))
    opt = torch.optim.AdamW(m.parameters(), cfg["lr"])
    for s in range(cfg["max_steps"]):
        x = torch.randn(cfg["batch"], 32, cfg["d_model"])
        loss = (m(x) - x).pow(2).mean(); loss.backward(); opt.step(); opt.zero_grad()
        log.info("step", extra={**R, "step": s, "loss": loss.item()})
try:
    main()
except Exception:
    log.critical("could not start training from %s", sys.argv[1], exc_info=True, extra=R)
    sys.exit(2)
