"""What the scripts read, made here: a tiny model with its tokenizer, texts, images. Nothing is downloaded."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import zlib
from pathlib import Path

NOUNS, REST = (
    "cat dog tree house river road",
    "the a one red blue green small large old new runs sleeps grows stands",
)
WORDS = [*NOUNS.split(), *REST.split()]
MODEL = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
set_seed(1)
words = sys.argv[2].split()
kept = ["<unk>", "<s>", "</s>", "<pad>", "[MASK]", "[CLS]", "[SEP]"]
known = {word: number for number, word in enumerate([*kept, "user", "assistant", ":", ".", *words])}
core = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
special |= {"mask_token": "[MASK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=64, **special)
tokenizer.chat_template = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} . {% endfor %}"
    "{% if add_generation_prompt %}assistant : {% endif %}"
)
tokenizer.save_pretrained(sys.argv[1])
config = LlamaConfig(
    vocab_size=len(known), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=4, max_position_embeddings=128, pad_token_id=3, bos_token_id=1, eos_token_id=2,
)
LlamaForCausalLM(config).save_pretrained(sys.argv[1])
"""
BERT = """
import sys
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, set_seed
set_seed(1)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[2])
tokenizer.save_pretrained(sys.argv[1])
config = BertConfig(
    vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    max_position_embeddings=128, pad_token_id=3,
)
BertForMaskedLM(config).save_pretrained(sys.argv[1])
"""
UNET = {
    "_class_name": "UNet2DModel",
    "sample_size": 32,
    "in_channels": 3,
    "out_channels": 3,
    "layers_per_block": 1,
    "block_out_channels": [16, 32],
    "down_block_types": ["DownBlock2D", "AttnDownBlock2D"],
    "up_block_types": ["AttnUpBlock2D", "UpBlock2D"],
    "norm_num_groups": 8,
}
ZERO2 = {
    "zero_optimization": {"stage": 2},
    "zero_allow_untested_optimizer": True,
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
}
GLUE = """---
configs:
- config_name: mrpc
  data_files:
  - {split: train, path: mrpc/train.jsonl}
  - {split: validation, path: mrpc/test.jsonl}
---
"""
METRIC = """
import datasets
import evaluate

class Share(evaluate.Metric):
    def _info(self):
        kinds = datasets.Features({"predictions": datasets.Value("int64"), "references": datasets.Value("int64")})
        return evaluate.MetricInfo(description="", citation="", features=kinds, inputs_description="")

    def _compute(self, predictions, references):
        return {"accuracy": sum(a == b for a, b in zip(predictions, references)) / len(references)}
"""


def made(folder: Path, python: str, needed: str) -> dict[str, str]:
    """Makes what is not there yet, and of what torch has to make only what `needed` names: `{model} {bert}`. Returns
    the paths by their names in `scripts.tsv`."""
    folder.mkdir(parents=True, exist_ok=True)
    model, bert = folder / "model", folder / "bert"
    needs_bert = "{bert}" in needed
    if ("{model}" in needed or needs_bert) and not model.exists():
        subprocess.run([python, "-c", MODEL, str(model), " ".join(WORDS)], check=True, timeout=300)
    if needs_bert and not bert.exists():
        subprocess.run([python, "-c", BERT, str(bert), str(model)], check=True, timeout=300)
    if not (folder / "text.txt").exists():
        draw = random.Random(1)
        tables(folder, draw)
        for place in ("mnist/MNIST", "fashion/FashionMNIST"):
            mnist(folder / place / "raw", draw)
        pictures(folder / "images", draw)
    return {path.stem if path.is_file() else path.name: str(path) for path in folder.iterdir()}


def sentence(draw: random.Random) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(12))


def lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def tables(folder: Path, draw: random.Random) -> None:
    """A plain text, and the data sets that Trainer's examples and TRL's scripts read."""

    def chat(role: str) -> list[dict[str, str]]:
        return [{"role": role, "content": sentence(draw)}]

    for part, count in (("train", 192), ("test", 48)):
        name = f"{part}.jsonl"
        many = range(count)
        lines(folder / "sft" / name, [{"messages": chat("user") + chat("assistant")} for _ in many])
        pairs = [
            {"prompt": chat("user"), "chosen": chat("assistant"), "rejected": chat("assistant")} for _ in many
        ]
        lines(folder / "pairs" / name, list(pairs))
        votes = [{"prompt": chat("user"), "completion": chat("assistant"), "label": n % 2 == 0} for n in many]
        lines(folder / "votes" / name, list(votes))
        lines(folder / "prompts" / name, [{"prompt": chat("user")} for _ in many])
        labels = [
            {"sentence1": sentence(draw), "sentence2": sentence(draw), "label": str(n % 2)} for n in many
        ]
        (folder / f"glue_{part}.json").write_text("".join(json.dumps(row) + "\n" for row in labels))
        imdb = [{"text": sentence(draw), "label": n % 2} for n in many]
        lines(folder / "imdb" / name, list(imdb))
        tags = [{"tokens": sentence(draw).split(), "ner_tags": ["A", "B"] * 6} for _ in many]
        (folder / f"ner_{part}.json").write_text("".join(json.dumps(row) + "\n" for row in tags))
        orders = [{"instruction": sentence(draw), "input": "", "output": sentence(draw)} for _ in many]
        (folder / "orders").mkdir(exist_ok=True)
        (folder / "orders" / f"{part}.json").write_text(json.dumps(orders))
        glue = [{**row, "label": int(str(row["label"])), "idx": n} for n, row in enumerate(labels)]
        lines(folder / "glue" / "mrpc" / f"{part}.jsonl", list(glue))
    (folder / "glue" / "README.md").write_text(GLUE)
    for name in ("glue", "accuracy", "f1", "seqeval", "rouge"):
        (folder / "metrics" / name).mkdir(parents=True)
        (folder / "metrics" / name / f"{name}.py").write_text(METRIC)
    (folder / "unet").mkdir()
    (folder / "unet" / "config.json").write_text(json.dumps(UNET))
    (folder / "wikitext").mkdir()
    (folder / "wikitext" / "wikitext-2.txt").write_text(
        "".join(sentence(draw) + "\n" for _ in range(11_100))
    )  # 4,121 pieces of 35 tokens: the example trains on what is beyond 4,000
    (folder / "orders" / "dataset_info.json").write_text(json.dumps({"orders": {"file_name": "train.json"}}))
    (folder / "zero2.json").write_text(json.dumps(ZERO2))
    (folder / "text.txt").write_text("".join(sentence(draw) + "\n" for _ in range(1200)))
    (folder / "dev.txt").write_text("".join(sentence(draw) + "\n" for _ in range(200)))


def mnist(folder: Path, draw: random.Random) -> None:
    """Files of MNIST's form, few and of noise."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 1200), ("t10k", 200)):
        pixels = draw.randbytes(count * 28 * 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + pixels)
        labels = bytes(n % 10 for n in range(count))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels)


def pictures(folder: Path, draw: random.Random) -> None:
    """A folder of images by their classes, 48 × 48 pixels of noise each, as PNG."""
    side = 48

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    for part, count in (("train", 30), ("val", 6)):
        for kind in ("cat", "dog"):
            (folder / part / kind).mkdir(parents=True, exist_ok=True)
            for number in range(count):
                rows = b"".join(b"\0" + draw.randbytes(3 * side) for _ in range(side))
                data = head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
                (folder / part / kind / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data)
