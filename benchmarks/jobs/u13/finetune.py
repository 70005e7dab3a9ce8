import logging
from dataclasses import dataclass, field

from datasets import Dataset
from transformers import (AutoTokenizer, DataCollatorForLanguageModeling, GPT2Config, GPT2LMHeadModel, HfArgumentParser,
                          Trainer, TrainingArguments, set_seed)

logger = logging.getLogger(__name__)


@dataclass
class Extra:
    tokenizer: str = field(default="tok")
    text: str = field(default="lines.txt")


def main():
    extra, targs = HfArgumentParser((Extra, TrainingArguments)).parse_args_into_dataclasses()
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
    set_seed(targs.seed)
    tok = AutoTokenizer.from_pretrained(extra.tokenizer)
    ds = Dataset.from_dict({"text": open(extra.text).read().splitlines()})
    ds = ds.map(lambda b: tok(b["text"], truncation=True), batched=True, remove_columns=["text"])
    logger.info("%d サンプル", len(ds))
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tok), n_positions=64, n_embd=64, n_layer=2, n_head=2,
                                       bos_token_id=tok.bos_token_id, eos_token_id=tok.eos_token_id))
    logger.info("パラメータ数 %d", model.num_parameters())
    tr = Trainer(model=model, args=targs, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
    tr.train()
    tr.save_model()


if __name__ == "__main__":
    main()
