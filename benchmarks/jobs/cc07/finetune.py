import logging
import sys

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainingArguments

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
logger = logging.getLogger("finetune")


class Notes(Dataset):
    """Anonymised discharge notes as byte ids."""

    def __init__(self, n=512):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randint(0, 256, (n, 64), generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i]}


def main():
    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    torch.manual_seed(args.seed)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=96, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=1))
    logger.info("rank %d: %.2fM parameters, output to %s", args.process_index, model.num_parameters() / 1e6, args.output_dir)
    trainer = Trainer(model=model, args=args, train_dataset=Notes())
    trainer.train()
    trainer.save_model()
    logger.info("rank %d: finished", args.process_index)


if __name__ == "__main__":
    main()
