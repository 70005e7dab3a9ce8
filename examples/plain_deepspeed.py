"""A plain DeepSpeed ZeRO-3 training loop for any number of nodes, on GPUs or on CPUs.

torchrun starts it on every rank; `allranks run examples/plain-deepspeed.yaml` does that on every node:

    torchrun --nnodes 3 --nproc-per-node 8 --node-rank 0 --master-addr ... plain_deepspeed.py --model DIR

It trains all weights of a causal language model on a text file. What such scripts often get wrong is done
right here: the batch arithmetic, each rank's own part of the data, the step at which a checkpoint is saved,
and no collective where only some of the ranks will arrive.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import deepspeed
import torch
from deepspeed.accelerator import get_accelerator
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = Path(__file__).resolve().parent
MODEL = str(HERE.parent / ".cache" / "tiny-deepseek-v3" / "model")  # what make_tiny.py makes for the demo
TEXT = str(HERE / "tiny" / "keeping-machines-alive.txt")


class Blocks(Dataset):
    """A text as blocks of equal length, with an overlap of half a block."""

    def __init__(self, text: str, tokenizer, length: int):
        ids = torch.tensor(tokenizer(text)["input_ids"])
        if len(ids) < length:
            raise SystemExit(f"the text has {len(ids)} tokens, fewer than one block of {length}")
        self.blocks = ids.unfold(0, length, max(1, length // 2))

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.blocks[number], "labels": self.blocks[number]}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--model", default=MODEL, help="a folder with a causal language model and its tokenizer"
    )
    parser.add_argument("--text", default=TEXT, help="the text to train on")
    parser.add_argument("--output", default="checkpoints", help="where checkpoints go")
    parser.add_argument("--steps", type=int, default=30, help="optimizer steps")
    parser.add_argument(
        "--micro-batch", type=int, default=2, help="rows a rank takes through the model at once"
    )
    parser.add_argument("--accumulation", type=int, default=2, help="micro-batches a step")
    parser.add_argument("--length", type=int, default=64, help="tokens a row")
    parser.add_argument("--learning-rate", type=float, default=5e-3)
    parser.add_argument(
        "--save-every", type=int, default=0, help="steps between checkpoints; 0 for one at the end"
    )
    return parser.parse_args()


def configuration(args: argparse.Namespace, world_size: int) -> dict:
    """DeepSpeed's JSON. The global batch is a product, written as one, so that it is right on any world."""
    return {
        "train_batch_size": args.micro_batch * args.accumulation * world_size,
        "train_micro_batch_size_per_gpu": args.micro_batch,
        "gradient_accumulation_steps": args.accumulation,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": True},
        "zero_optimization": {
            "stage": 3,
            "overlap_comm": torch.cuda.is_available(),  # a CPU has no streams to overlap on
            "contiguous_gradients": True,
            "reduce_bucket_size": 5e7,
            "stage3_prefetch_bucket_size": 5e7,
            "stage3_gather_16bit_weights_on_model_save": True,
        },
    }


def batches(loader: DataLoader, sampler: DistributedSampler):
    """Batches without end; each epoch shuffles again, in the same order on every rank."""
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def train(args: argparse.Namespace) -> None:
    rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model).to(torch.bfloat16)
    with open(args.text, encoding="utf-8") as file:
        data = Blocks(file.read(), tokenizer, args.length)
    # Each rank gets its own rows, and all ranks equally many: a rank with one batch fewer would leave the
    # others waiting in their collectives.
    sampler = DistributedSampler(data, world_size, rank, shuffle=True, seed=0, drop_last=True)
    loader = DataLoader(data, batch_size=args.micro_batch, sampler=sampler, drop_last=True)
    if len(loader) == 0:
        raise SystemExit(f"{len(data)} rows are too few for {world_size} ranks of {args.micro_batch}")
    # torch's AdamW and not DeepSpeed's, which is compiled at first use where there is no GPU.
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=0.01)
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
    engine, _, _, _ = deepspeed.initialize(
        model=model, optimizer=optimizer, lr_scheduler=warm, config=configuration(args, world_size)
    )
    engine.train()
    for batch in batches(loader, sampler):
        batch = {name: value.to(engine.device) for name, value in batch.items()}
        loss = engine(**batch).loss
        engine.backward(loss)  # DeepSpeed divides by the accumulation itself
        before = engine.global_steps
        engine.step()  # once a micro-batch; the optimizer moves at every accumulation-th call
        step = engine.global_steps
        if step == before:
            continue
        if rank == 0:
            print(f"step {step} of {args.steps}  loss {loss.item():.4f}", flush=True)
        # Saving is a collective: every rank decides by the same number and goes in.
        if step == args.steps or (args.save_every and step % args.save_every == 0):
            engine.save_checkpoint(args.output, tag=f"step-{step}")
        if step == args.steps:
            break
    engine.save_16bit_model(args.output)


def main() -> None:
    args = arguments()
    # DeepSpeed 0.19 calls collectives by names that torch 2.13 wants replaced, and torch says so at every call.
    warnings.filterwarnings("ignore", "`torch.distributed", FutureWarning)
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed(dist_backend=get_accelerator().communication_backend_name())
    # No `except` that saves "an emergency checkpoint": the other ranks are not in it, and a rank that waits
    # for them there turns an error into a hang. The exception ends this rank, and torchrun the others.
    train(args)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
