import logging, torch, os
from transformers import AutoModelForCausalLM, AutoTokenizer
logging.basicConfig(level=20)
r = int(os.environ["RANK"])
torch.distributed.init_process_group("gloo")
logging.info("rank %d loads the policy", r)
tok = AutoTokenizer.from_pretrained("base")
policy = AutoModelForCausalLM.from_pretrained("base", dtype=torch.float32)
ref = AutoModelForCausalLM.from_pretrained("base", dtype=torch.float32)
logging.info("rank %d ready", r)
