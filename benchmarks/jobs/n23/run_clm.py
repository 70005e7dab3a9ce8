import datetime, time, logging, torch, torch.distributed as dist
from accelerate import Accelerator
from accelerate.logging import get_logger
logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
acc = Accelerator(); log = get_logger(__name__)
store = dist.distributed_c10d._get_default_store()
def wait_for(key, tries=10):
    for t in range(tries):
        try:
            store.wait([key], datetime.timedelta(seconds=3)); return
        except Exception as e:
            log.error(f"rank {acc.process_index} timed out while waiting for '{key}' ({type(e).__name__}: {str(e).splitlines()[0]}), try {t+1}/{tries}", main_process_only=False)
    raise TimeoutError(key)
if acc.is_main_process:
    blocks = []
    for i in range(80): blocks.append(torch.randint(4, 60, (32,))); time.sleep(.12)
    torch.save(torch.stack(blocks), "blocks.pt"); store.set("blocks_ready", "1")
else:
    wait_for("blocks_ready")
data = torch.load("blocks.pt")
model, opt = torch.nn.Sequential(torch.nn.Embedding(64, 16), torch.nn.Linear(16, 64)), None
opt = torch.optim.AdamW(model.parameters(), 1e-2)
model, opt, dl = acc.prepare(model, opt, torch.utils.data.DataLoader(data, batch_size=4))
for ep in range(2):
    for s, b in enumerate(dl):
        l = torch.nn.functional.cross_entropy(model(b[:, :-1]).transpose(1, 2), b[:, 1:]); acc.backward(l); opt.step(); opt.zero_grad()
    log.info(f"***** epoch {ep} train_loss {l.item():.4f} perplexity {l.exp().item():.2f} *****")
acc.wait_for_everyone(); acc.save_model(model, "clm_out") if acc.is_main_process else None
acc.end_training()
