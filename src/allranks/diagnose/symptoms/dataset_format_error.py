"""The data is not in the form that the trainer expects.

## How it is found
`DatasetGenerationError`, `DatasetGenerationCastError`, `pyarrow.lib.ArrowInvalid: JSON parse error`,
`Couldn't cast`, `JSONDecodeError`, `Cannot find valid samples, check data/README.md`, `Undefined dataset
* in dataset_info.json`.

Easily confused with dataset-file-missing-on-node, where the file is not there.

## Why it matters
A line of the data set cannot be parsed, columns differ between files, or the name is not known to the
trainer.

## What to do
Look at the file and row that the exception names (`jq . FILE > /dev/null` finds a broken line); give all
files the same columns and types; register the data set under the name that the configuration uses.

## Source
datasets 4.0.0 defines `DatasetGenerationError` and `DatasetGenerationCastError` in `exceptions.py` and
raises `Couldn't cast` in `table.py`. LLaMA-Factory 0.9.5 raises `Cannot find valid samples` in
`data/loader.py`. DeepSpeed 0.19.8 raises `match expected format` in `data_sampling/indexed_dataset.py`.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import CRASH, Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    frame=(
        r"/(?:llmfoundry|torchtune|openrlhf|verl|nemo_rl|xtuner|fastchat|unsloth|tuning"
        r"|open_instruct)/(?:\w{1,20}/){0,2}"
        r"(?:data|datasets?)/|"
        r"/datasets/(?!utils/|download/|load\.py)|/llamafactory/data/|/llmtuner/data/"
        r"|/axolotl/(?:prompt|utils/data|datasets|processing_strategies)|/trl/data_utils\.py"
        r"|/megatron/(?:core/datasets|legacy/data|data)/|/swift/llm/(?:dataset|template)/"
        r"|/data_collator|/collat\w{0,30}\.py in|/(?!load\.py)\w{0,30}data_?sets?\w{0,10}\.py in"
        r"|in \w{0,20}(?:tokenize|preprocess|process|prepare|create|build|make|format|formatting|map|read"
        r"|parse)_\w{0,20}(?:data_?sets?|data|examples?|samples?|conversations?|func\w{0,5}|fn)$"
    ),
    needs_message=True,
    subject=(
        r"(?i)\bcolumns?\b|\b(?:train|eval)_dataset\b|\bconversations?\b|\bschema\b|\brole[ _]tags?\b"
        r"|\blabels? (?:must|should|contains?|out of)\b|\bparquet\b|\btfrecords?\b|\bfield names?\b"
        r"|\b(?:image|video|audio|visual|vision|media)s? (?:features?|tokens?|placeholders?)\b"
        r"|\b(?:chosen|rejected|completion|messages?)\b.{0,40}\bkeys?\b|\bkeys? in (?:the )?examples?\b"
        r"|\bannotation files?\b|\bdata ?set\b.{0,60}\b(?:empty|malformed|corrupt\w{0,3})\b"
    ),
    loose=(
        r"(?i)\bdata ?sets?\b|\bsamples?\b(?! rate)"
        r"|(?<!config\.)(?<!vocab\.)(?<!params\.)(?<!tokenizer\.)(?<!index\.)\bjsonl?\b"
    ),
    broad=True,
    code=(
        r"(?i)(?:example|sample|feature|batch|inputs?|row|item|record|line|data|entry|datum|json\w{0,10}|df"
        r"|instance|ann\w{0,10}"
        r"|dataset|conversation"
        r"|conv|messages?|turn|doc|document|elem(?:ent)?|dialog\w{0,4}|sentence|source|annotations?|column"
        r"|question)s?"
        r"(?:\d|\[\w{1,12}\])?\[[\"'A-Za-z_]"
    ),
)
PATTERNS = (
    Pattern(  # a sample that the data set's code cannot read
        "in DataLoader worker",
        r"Caught (?:Key|Index|Value|Lookup|UnicodeDecode|UnidentifiedImage"
        r"|Zero\w{0,9}|StopIter\w{0,5})"
        r"(?:Error|Exception|ation)? in DataLoader worker",
        weight=CRASH + 1,
        raised=True,
    ),
    Pattern("Keys mismatch: between", weight=90),
    Pattern("expects each tensor to be equal size", weight=CRASH + 6, raised=True),
    Pattern("in list of batch should be of equal size", weight=CRASH + 6, raised=True),
    Pattern("num_samples should be a positive integer", weight=CRASH + 6, raised=True),  # an empty data set
    Pattern("is required but could not be found", r"Feature: .{1,200} is required", weight=88),  # TensorFlow
    Pattern("parse serialized Example", weight=88),
    Pattern("cannot identify image file", weight=86),
    Pattern("corrupted record at", weight=88),  # a TFRecord
    Pattern(  # a column that the data set does not have
        "formatting.py",
        r"datasets/formatting/formatting\.py\W{1,3}line \d{1,6},? in (?:__getitem__|_check_valid_column_key)",
        weight=72,
        frame=("__getitem__", "datasets/formatting/formatting.py"),
    ),
    Pattern("DatasetGenerationError", raised=True, weight=86),
    Pattern("DatasetGenerationCastError", weight=92),
    Pattern(
        "ArrowInvalid", r"ArrowInvalid: .{0,200}(?:JSON|CSV|parse|[Cc]olumn|cast)", raised=True, weight=92
    ),
    Pattern("Couldn't cast", raised=True, weight=88),
    Pattern("ArrowNotImplementedError", weight=80),  # Arrow's name for a type that it cannot convert
    Pattern("JSONDecodeError", raised=True, weight=84),
    Pattern("match expected format", r"Index file doesn't match expected format", weight=92),
    Pattern("Cannot find valid samples", weight=96),
    Pattern("Undefined dataset", weight=96),
)
