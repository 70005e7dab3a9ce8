"""Files of the model are not there.

## How it is found
`Error no file named model.safetensors`, `Repo id must be in the form` with an absolute path (that path is
missing on this node), `Can't load tokenizer for`, `does not appear to have a file named`, `Incorrect
path_or_model_id`.

Easily confused with hf-hub-offline-or-auth, where the name is a hub's and the network or a token is missing.

## Why it matters
The rank cannot load the model: a download that is incomplete, or storage that is not mounted on that node.

## What to do
Look at the path on that node (`ls`, `mount`). Complete the download, or mount the storage at the same path on every
node.

## Source
transformers 5.6.0 raises `is not a local folder and is not a valid model identifier` in `utils/hub.py`,
`does not appear to have a file named` in `modeling_utils.py` and `Can't load tokenizer for` in
`tokenization_utils_base.py`. huggingface_hub 1.33.0 raises `Repo id must be in the form` in
`utils/_validators.py`. The other texts are as people posted them in public reports.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.dataset_file_missing_on_node import CAUSE as DATASET_FILE_MISSING_ON_NODE

CAUSE = Cause(__name__, explains=(DATASET_FILE_MISSING_ON_NODE,))
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:no|not|n't|cannot|find|missing|such|exist|open|load|unable)\b.{0,200}(?:\b(?:adapter_"
        r"|generation_|processor_"
        r"|preprocessor_|tokenizer_)?config\.json\b|\badapter_model\b|\bpytorch_model\b|\.(?:safetensors|gguf"
        r"|onnx|pth|ckpt|pt"
        r"|tiktoken)\b)"
        r"|(?:\b(?:adapter_|generation_|processor_|preprocessor_|tokenizer_)?config\.json|\badapter_model\b"
        r"|\bpytorch_model\b"
        r"|\.(?:safetensors|gguf|onnx|pth|ckpt|pt|tiktoken))\b.{0,80}\b(?:not|n't|missing|no such)\b"
        r"|\b(?:model|weights?|tokenizer|vocab\w{0,6}|adapter|merges|sentencepiece)[ _](?:index )?(?:file"
        r"|path"
        r"|folder|dir"
        r"|director(?:y|ies))s?\b|\bmodel_(?:name_or_)?(?:path|dir)\b"
        r"|\b(?:no|not find|cannot find|could not find|can't find|couldn't find|unable to find"
        r"|missing) (?:\w{1,20} ){0,3}"
        r"(?:model weights|weights?|safetensors|checkpoint files|vocab file|shards?)\b"
        r"|\b(?:vocab|params|tokenizer\w{0,20}|merges|encoder\w{0,20}|spiece)\.(?:json|txt|model|bpe)\b"
        r"|^unrecognized model in\b"
    ),
)
_HUB = ("gated repo", "401 Client", "403 Client")
PATTERNS = (
    Pattern("Error no file named"),
    Pattern("Repo id must be in the form"),
    Pattern("Repo id must use alphanumeric"),
    Pattern("Incorrect path_or_model_id"),
    Pattern("load tokenizer for", r"Can't load tokenizer for", without=_HUB),
    Pattern("load the configuration of", r"Can't load the configuration of", without=_HUB),
    Pattern("does not appear to have a file named", without=_HUB),
    Pattern("is not a local folder and is not a valid model identifier", weight=90),
    Pattern("Unable to load vocabulary from file"),
    Pattern("Unrecognized model in", r"model_type", weight=90),
    Pattern("parse ModelProto from", weight=90),  # SentencePiece
    Pattern("failed to open", r"(?i)failed to open \S{0,300}\.(?:gguf|ggml|bin|safetensors)\b", weight=84),
    Pattern(
        "No such file or directory",
        # PEFT prints "Can't find" if it loads an adapter, so adapter_config here means a save whose folder is missing.
        r"(?:(?<!adapter_)config|params|\w{0,20}bpe\w{0,20}|merges|special_tokens_map|tokenizer(?:_config)?"
        r"|generation_config|\w{0,60}model-\d{1,12}-of-\d{1,12}"
        r"|pytorch_model|"
        r"vocab|tokenizer\.model)\.?(?:json|safetensors|bin|txt|model)?\b['\"]?$",
        raised=True,
    ),
    Pattern("Not found:", r"tokenizer\.model|spiece\.model|\.model\"", raised=True),
)
