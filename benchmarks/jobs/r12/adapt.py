import argparse, logging, sys
import torch, transformers
from transformers import AutoModelForCausalLM
from peft import LoraConfig, get_peft_model
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s|adapt|%(message)s", datefmt="%H:%M:%S")
ap = argparse.ArgumentParser(); ap.add_argument("--base"); ap.add_argument("--r", type=int); ap.add_argument("--steps", type=int)
a = ap.parse_args()
log = logging.getLogger()
data = torch.randint(0, 500, (200, 24))
log.info("synthetic calibration set %s", tuple(data.shape))
for i in range(0, 200, 10):
    log.info("rows %d-%d  min %d max %d", i, i + 9, data[i:i + 10].min(), data[i:i + 10].max())
code = 0
try:
    model = AutoModelForCausalLM.from_pretrained(a.base, local_files_only=True)
    model = get_peft_model(model, LoraConfig(r=a.r, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    model.print_trainable_parameters()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)
    for s in range(a.steps):
        b = data[torch.randint(0, 200, (4,))]
        l = model(input_ids=b, labels=b).loss
        l.backward(); opt.step(); opt.zero_grad()
        log.info("step %d loss %.3f", s, l.item())
    model.save_pretrained("adapter")
except Exception:
    log.exception("adapt failed")
    code = 1
log.info("versions torch %s transformers %s", torch.__version__, transformers.__version__)
log.info("args %s", vars(a))
log.info("bye")
sys.exit(code)
