from dataclasses import dataclass, field
import logging, sys
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, TrainingArguments

@dataclass
class ModelArguments:
    model_name_or_path: str = field(default=None)
    attn_implementation: str = field(default="sdpa")

parser = HfArgumentParser((ModelArguments, TrainingArguments))
margs, targs = parser.parse_args_into_dataclasses()
logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", handlers=[logging.StreamHandler(sys.stdout)], level=logging.INFO)
log = logging.getLogger(__name__)
log.info("rank %s device %s", targs.local_process_index, targs.device)
tok = AutoTokenizer.from_pretrained(margs.model_name_or_path)
model = AutoModelForCausalLM.from_pretrained(margs.model_name_or_path, attn_implementation=margs.attn_implementation)
log.info("model loaded")
