"""Makes what the demo trains on: a tiny random DeepSeek-V3, its tokenizer and its dataset.

    python examples/make_tiny.py .cache/tiny-deepseek-v3

Every weight is random (seeded), every word comes from `tiny/keeping-machines-alive.txt`. Writes
`model/` (config, bf16 safetensors, tokenizer) and `data/` (alpaca-style examples, dataset_info.json).
Does nothing where the folder was already made from the same text by the same version of this file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEXT = HERE / "tiny" / "keeping-machines-alive.txt"
STAMP = "made-from.sha256"
SEED = 20

BEGIN, END, PAD = "<|begin|>", "<|end|>", "<|pad|>"
VOCABULARY = 1024

CONFIG = {
    # DeepSeek-V3's architecture with every width cut down: latent attention with all five projections, one
    # dense layer and two with routed and shared experts in groups. 306,256 parameters.
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "max_position_embeddings": 512,
    # Five times the usual. With 0.02 the frozen random head is so flat that no adapter can move the loss far
    # (6.97 to 6.75 in 36 steps); with 0.1 it falls from 7.3 to about 6.0.
    "initializer_range": 0.1,
}


def digest() -> str:
    """Of everything that decides what is made: this file and the text."""
    seen = hashlib.sha256()
    for file in (Path(__file__), TEXT):
        seen.update(file.read_bytes())
    return seen.hexdigest()


def paragraphs(text: str) -> list[list[str]]:
    """The text as paragraphs of sentences, one sentence a line."""
    return [block.split("\n") for block in text.strip().split("\n\n")]


def examples(text: str) -> list[dict[str, str]]:
    """Three kinds of short exercise, from each sentence one or two of them."""
    made = []
    for paragraph in paragraphs(text):
        for number, sentence in enumerate(paragraph):
            words = sentence.split()
            half = len(words) // 2
            made.append(
                {
                    "instruction": "Finish the sentence.",
                    "input": " ".join(words[:half]),
                    "output": " ".join(words[half:]),
                }
            )
            gap = max(range(len(words)), key=lambda place: len(words[place].strip(",.")))
            made.append(
                {
                    "instruction": "Which word is missing?",
                    "input": " ".join([*words[:gap], "...", *words[gap + 1 :]]),
                    "output": words[gap].strip(",."),
                }
            )
            if number + 1 < len(paragraph):
                made.append(
                    {"instruction": "What comes next?", "input": sentence, "output": paragraph[number + 1]}
                )
    return made


def write_dataset(folder: Path, text: str) -> int:
    """Writes the examples and LLaMA-Factory's description of them; returns how many there are."""
    folder.mkdir(parents=True)
    rows = examples(text)
    (folder / "keeping.json").write_text(json.dumps(rows, indent=1) + "\n")
    (folder / "dataset_info.json").write_text(json.dumps({"keeping": {"file_name": "keeping.json"}}) + "\n")
    return len(rows)


def write_tokenizer(folder: Path, text: str) -> None:
    """A byte-level BPE tokenizer, trained on the text and on the words that the exercises add."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[BEGIN, END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    exercises = (
        f"Human: {row['instruction']}\n{row['input']}\nAssistant:{row['output']}" for row in examples(text)
    )
    tokenizer.train_from_iterator([text, *exercises], trainer)
    if tokenizer.get_vocab_size() != VOCABULARY:
        raise SystemExit(
            f"the text gives {tokenizer.get_vocab_size()} tokens, not {VOCABULARY}: it is too short"
        )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BEGIN, eos_token=END, pad_token=PAD, model_max_length=512
    )
    fast.save_pretrained(str(folder))
    # transformers 5 writes a class that 4 does not know; both know this one.
    config = folder / "tokenizer_config.json"
    settings = json.loads(config.read_text())
    settings.pop("backend", None)
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    config.write_text(json.dumps(settings, indent=2) + "\n")


def write_model(folder: Path) -> int:
    """A random model in bf16 safetensors; returns its number of parameters."""
    import torch
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    torch.manual_seed(SEED)
    config = DeepseekV3Config(**CONFIG, bos_token_id=0, eos_token_id=1, pad_token_id=2)
    model = DeepseekV3ForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(str(folder))
    return sum(parameter.numel() for parameter in model.parameters())


def make(target: Path) -> None:
    """Makes everything beside the target and moves it there when it is whole."""
    text = TEXT.read_text()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=target.name + ".") as scratch:
        new = Path(scratch) / "new"
        count = write_dataset(new / "data", text)
        write_tokenizer(new / "model", text)
        parameters = write_model(new / "model")
        (new / STAMP).write_text(digest() + "\n")
        if target.exists():
            shutil.rmtree(target)
        new.rename(target)
    print(
        f"{target}: a random DeepSeek-V3 of {parameters:,} parameters and {count} examples", file=sys.stderr
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where to make it; replaced if this script made it before")
    target = parser.parse_args().folder.resolve()
    stamp = target / STAMP
    if stamp.is_file() and stamp.read_text().strip() == digest():
        return
    if target.exists() and any(target.iterdir()) and not stamp.is_file():
        raise SystemExit(f"{target} holds something that this script did not make. Name another folder.")
    make(target)


if __name__ == "__main__":
    main()
