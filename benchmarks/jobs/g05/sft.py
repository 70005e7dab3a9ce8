import argparse, csv, os, logging, traceback
import torch, torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer
ap = argparse.ArgumentParser(); ap.add_argument("--model"); ap.add_argument("--out"); args = ap.parse_args()
rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
log = logging.getLogger(f"sft.{rank}")
try:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"])); device, backend = "cuda", "nccl"
except Exception as e:
    log.error("cannot use CUDA: %s: %s", type(e).__name__, e)
    device, backend = "cpu", "gloo"
    log.warning("falling back to device=cpu backend=gloo")
dist.init_process_group(backend)
try:
    import wandb
    run = wandb.init(project="sft")
except ImportError:
    log.warning("wandb logging disabled", exc_info=True)
    os.makedirs(args.out, exist_ok=True)
    run = csv.writer(open(f"{args.out}/metrics_rank{rank}.csv", "w"))
model = None
for impl in ("flash_attention_2", "sdpa", "eager"):
    try:
        model = AutoModelForCausalLM.from_pretrained(args.model, attn_implementation=impl)
        log.info("attention implementation: %s", impl); break
    except Exception as e:
        log.error("attn_implementation=%s failed", impl, exc_info=True)
tok = AutoTokenizer.from_pretrained(args.model)
ddp = torch.nn.parallel.DistributedDataParallel(model)
opt = torch.optim.AdamW(ddp.parameters(), 5e-3)
torch.manual_seed(rank)
for step in range(15):
    ids = torch.randint(4, 31, (4, 24)); ids[:, 12:] = ids[:, :12]
    loss = ddp(input_ids=ids, labels=ids).loss
    opt.zero_grad(); loss.backward(); opt.step()
    if hasattr(run, "writerow"): run.writerow([step, loss.item()])
    if rank == 0 and step % 3 == 0: log.info("step=%d loss=%.4f lr=5e-3", step, loss)
if rank == 0:
    model.save_pretrained(args.out); tok.save_pretrained(args.out)
    print("model saved to", args.out)
dist.destroy_process_group()
