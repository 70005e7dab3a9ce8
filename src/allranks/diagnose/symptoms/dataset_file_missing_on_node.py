"""A data file is not there.

## How it is found
`FileNotFoundError: [Errno 2] No such file or directory: '*.bin'` (json, parquet, arrow, ...) on the ranks
of one node alone. Or the ranks lost each other, and only one of them printed that it has 0 files or samples.

Easily confused with tokenizer-or-model-file-missing, missing-system-tool, checkpoint-corrupt-resume-fail: the
same error about other files.

## Why it matters
The path is wrong, or relative to another working directory. If only one of several nodes lacks the file, it is on
another node's local disk, or on storage that is not mounted here; the other ranks only lose their peer.

## What to do
Check the path that the line names, and the working directory. On several nodes put the data on storage that every node
mounts, or copy it to the same path on each; `allranks check` compares the paths.

## Source
datasets 4.0.0 raises `Couldn't find any data file at` in `load.py` and defines `DatasetNotFoundError` in
`exceptions.py`. LLaMA-Factory 0.9.5 raises `Undefined dataset` in `data/parser.py`. PyTorch 2.13 adds `in
DataLoader worker` in `torch/utils/data/_utils/worker.py`. The other texts are as people posted them in
public reports.

Topic: storage
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.claims import SAVES, Claim
from allranks.diagnose.differences import only_one_differs
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.speakers import quiet_ranks
from allranks.diagnose.symptom import CRASH, ECHO, STRONG, Case, Hit, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.nccl_remote_process_exited import CAUSE as NCCL_REMOTE_PROCESS_EXITED

CAUSE = Cause(__name__)
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:file|path|data|shard|folder|director(?:y|ies))\b.{0,300}\.(?:bin|idx|jsonl|parquet|arrow"
        r"|csv|tsv|npy|npz|h5|tar|zst)"
        r"\b.{0,60}\b(?:not|n't|missing)\b|\b(?:no such file|not found|not exist|missing)\b.{0,300}\.(?:idx"
        r"|jsonl|parquet|arrow|csv"
        r"|tsv|npy|npz|h5|tar|zst)\b|\b(?:data(?:set)?|shard|manifest) (?:file|path|folder|dir|director(?:y"
        r"|ies))s?\b.{0,200}\b(?:not|n't"
        r"|missing)\b|\b(?:not|n't|cannot|missing|unable)\b.{0,60}\b(?:data(?:set)?|shard|manifest) (?:file"
        r"|path|folder|dir)s?\b|\bfilenotfound\w{0,6}\b(?!:)"
    ),
    settings=True,
)
_DATA = (
    r": ['\"](?i:[^'\"]{0,400}?(?:\.(?:bin|idx|jsonl?|parquet|arrow|csv|tsv|"
    r"txt|tar|npy|npz|h5|hdf5|lmdb|tfrecord|zst|gz"
    r"|mds|jpe?g|png|wav|flac|mp4)\b|\bdata(?:set)?s?\b))"
)
_NAMED = (
    r"(?i)\b(?:file|path|data(?:set)?)\b.{0,400}?(?:\.(?:bin|idx|jsonl?|parquet|arrow|csv|tsv|npy|npz|h5|tar"
    r"|zst|gz|jpe?g|png"
    r"|wav|mp4)|\bdata(?:set)?s?/[^'\" ]{1,200})['\"]?\)? "
)
_NO_DATA = (
    "config.json", "vocab.json", "params.json", "tokenizer.", "merges.txt", "spiece.model", "index.json",
    "/checkpoint-", "checkpoints/", "/ckpt", "/output", "/logs/",
    "/runs/", "logging.jsonl", "trainer_", "pytorch_model", "adapter_model", "model.bin", "safetensors", ".gguf",
)  # fmt: skip
"""Files of models, and parts of paths to which a run writes."""
PATTERNS = (
    Pattern("Dataset not found", raised=True, weight=CRASH + 4),  # YOLO's `check_dataset`
    Pattern("in DataLoader worker", r"Caught FileNotFoundError in DataLoader worker"),
    Pattern("not found", _NAMED + r"(?:was |is )?not found", weight=CRASH + 4, raised=True, without=_NO_DATA),
    Pattern(
        "not exist",
        _NAMED + r"(?:does not|doesn't|not) exist",
        weight=CRASH + 4,
        raised=True,
        without=_NO_DATA,
    ),
    Pattern("No such file or directory", r"(?:FileNotFound|IO|OS)Error.{0,40}" + _DATA, without=_NO_DATA),
    Pattern(
        "open file",
        r"(?i)(?:can't|can ?not|could not|unable to|failed to) open file:? ['\"]?(?:\S{0,200}/)?data(?:set)?s?/\S",
        weight=CRASH + 4,
    ),
    Pattern("find a dataset", r"(?i)couldn'?t find (?:a |any )?dataset"),
    Pattern("DatasetNotFoundError"),
    Pattern("Dataset does not exist", weight=STRONG),
    Pattern("Undefined dataset"),
    Pattern("dataset_info.json", r"(?i)cannot (?:open|find)|No such|not found|does not exist"),
    Pattern("Unable to find", r"Unable to find '[^']{1,300}'", raised=True),
    Pattern("any data file", r"(?i)couldn'?t find any data file"),
    Pattern(
        "FileNotFoundError",
        r"FileNotFoundError: (?!\[)\S{0,300}\.(?i:parquet|arrow|jsonl|csv|tsv|tar|npy|npz|h5|hdf5|tfrecord|zst)$",
        weight=CRASH + 4,
        raised=True,
        without=_NO_DATA,
    ),  # pyarrow, which names the file alone
    Pattern("FileNotFoundError", r"'/[^']{1,300}'", weight=CRASH + 2, raised=True, without=_NO_DATA),
)


def judge(seen: Evidence) -> Optional[Case]:
    """A path of an unknown kind of file counts as data only if several nodes run and it is missing on just one. A file
    that the program wanted to write is none."""
    case = seen.case("dataset-file-missing-on-node")
    if case is None:
        return _found_nothing(seen)
    wrote = {one.order for _, one in seen.raised() if any(map(SAVES.search, (one.code, *one.frames)))}
    case = case._replace(hits=tuple(hit for hit in case.hits if hit.order not in wrote))
    if not case.hits:
        return None
    if case.weight >= STRONG:
        return case
    nodes = {seen.node_of(h.line) for h in case.hits}
    if case.weight == CRASH + 4:
        return case
    return case if len(nodes) == 1 and len(seen.nodes) > 1 else None


_ITEM = r"(?:files?|shards?|samples|rows|examples|records|documents|docs|lines|images|clips)"
_NOTHING = re.compile(rf"(?i)(?<![\d.,])0 {_ITEM}\b|(?<![a-z]){_ITEM}['\"]?[ :=]{{1,3}}0(?![.,]?\d)")
_NORMAL = re.compile(
    r"(?i)skip|drop|pad|cache|left|remain|queue|bad|corrupt|ignor|resum|eval|valid|fail|error|missing|retr|broken|empty"
    r"|duplicat|filter|reject|test"
)
"""Words in a line in which 0 of something is usual."""


def _found_nothing(seen: Evidence) -> Optional[Case]:
    """The ranks lost each other, and only one of them says that it has 0 files or samples. It is the one that they
    lost, or all complain."""
    names = (NCCL_REMOTE_PROCESS_EXITED.id, COLLECTIVE_TIMEOUT_STRAGGLER.id)
    hits = [hit for name in names for hit in seen.hits.get(name, ()) if not seen.survived(hit)]
    other = only_one_differs(seen) if hits else None
    if other is None or other.value != "0" or other.rank == 0 or other.usual in ("0", "1"):
        return None
    if _NOTHING.search(other.said) is None or _NORMAL.search(other.line.text) is not None:
        return None
    quiet = quiet_ranks(seen)
    if quiet and other.rank not in quiet:
        return None
    first = hits[0]
    told = (
        Hit("dataset-file-missing-on-node", ECHO, other.line, first.order, first.at, first.steps),
        *hits[:3],
    )
    return Case(told[0].symptom, ECHO + 8, told, "likely", rank=other.rank, notes=(other.note,))
