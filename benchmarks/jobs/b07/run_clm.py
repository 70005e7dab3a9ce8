import logging, sys
from dataclasses import dataclass, field
from typing import Optional
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, Trainer, TrainingArguments

logger = logging.getLogger(__name__)


@dataclass
class ModelArguments:
    model_name_or_path: Optional[str] = field(default=None)
    model_revision: str = field(default="main")


@dataclass
class DataArguments:
    train_file: Optional[str] = field(default=None)
    block_size: int = field(default=64)


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    margs, dargs, targs = parser.parse_args_into_dataclasses()
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", handlers=[logging.StreamHandler(sys.stdout)], level=logging.INFO)
    transformers.utils.logging.set_verbosity_info()
    logger.warning(f"Process rank: {targs.local_rank}, device: {targs.device}, distributed training: {targs.parallel_mode.value == 'distributed'}")
    config = AutoConfig.from_pretrained(margs.model_name_or_path, revision=margs.model_revision)
    tok = AutoTokenizer.from_pretrained(margs.model_name_or_path, revision=margs.model_revision)
    model = AutoModelForCausalLM.from_pretrained(margs.model_name_or_path, config=config)
    text = open(dargs.train_file).read()
    ids = tok(text)["input_ids"]
    n = len(ids) // dargs.block_size
    data = [{"input_ids": ids[i * dargs.block_size:(i + 1) * dargs.block_size], "labels": ids[i * dargs.block_size:(i + 1) * dargs.block_size]} for i in range(n)]
    Trainer(model=model, args=targs, train_dataset=data).train()


if __name__ == "__main__":
    main()
