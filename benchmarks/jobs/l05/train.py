import os, time, random, logging
import torch.distributed as dist
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("loader")

def with_retries(fn, what, n=4):
    for k in range(1, n + 1):
        try:
            return fn()
        except OSError as e:
            log.warning("attempt %d/%d for %s did not work: %s", k, n, what, str(e).split("\n")[0])
            time.sleep(1.5 * k)
    log.error("giving up on %s", what)
    return None

dist.init_process_group("gloo")
name = os.environ.get("BASE_MODEL", "HuggingFaceTB/SmolLM2-135M")
tok = with_retries(lambda: AutoTokenizer.from_pretrained(name), "tokenizer")
if tok is None:
    dist.destroy_process_group()
    raise SystemExit(1)
model = with_retries(lambda: AutoModelForCausalLM.from_pretrained(name), "model")
log.info("model ready")
