import json, logging, os, sys, time, yaml, torch, torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer
from peft import LoraConfig, get_peft_model
dist.init_process_group("gloo"); rank = dist.get_rank()
logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s [tune-kit] %(levelname)s: %(message)s")
log = logging.getLogger("tune")
cfg = yaml.safe_load(open(sys.argv[1])); cfg.update(kv.split("=", 1) for kv in sys.argv[2:]); t0 = time.time()
def train():
    tok = AutoTokenizer.from_pretrained(cfg["base"])
    try:
        import bitsandbytes as bnb; Opt = bnb.optim.AdamW8bit
    except Exception as e:
        log.error("8-bit optimizer: %s - the standard AdamW is used", e); Opt = torch.optim.AdamW
    model = AutoModelForCausalLM.from_pretrained(cfg["base"])
    log.info("base model loaded, %.2f M parameters", model.num_parameters() / 1e6)
    model = get_peft_model(model, LoraConfig(r=cfg["r"], lora_alpha=cfg["alpha"], target_modules=cfg["target_modules"], task_type="CAUSAL_LM"))
    model = torch.nn.parallel.DistributedDataParallel(model); opt = Opt([p for p in model.parameters() if p.requires_grad], 1e-4)
    for s in range(cfg["steps"]):
        x = torch.randint(3, 24, (2, 16)); l = model(input_ids=x, labels=x).loss; l.backward(); opt.step(); opt.zero_grad(); log.info("step %d loss %.3f", s, l.item())
status = "completed"
try: train()
except Exception as e: status = "stopped"; log.warning("%s", e)
finally:
    if rank == 0:
        json.dump({"name": cfg["name"], "status": status}, open("status.json", "w"))
        log.info("run %s %s after %.1f s", cfg["name"], status, time.time() - t0); log.info("report written to status.json"); log.info("Thank you for using tune-kit!")
    dist.destroy_process_group()
