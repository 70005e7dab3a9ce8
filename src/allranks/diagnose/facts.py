"""Facts that logs contain besides symptoms: ends of processes (`ends.py`), world sizes, collectives, versions,
interfaces.

A single fact does not name a cause. The symptoms' `judge` functions compare facts over ranks and nodes.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Tuple, Union

from allranks.diagnose import closings, dumped_stacks, ends, figures, going_on, leavers, ports, sections
from allranks.diagnose.ends import KEPT, numbers
from allranks.diagnose.lines import Line
from allranks.diagnose.source_lines import Mark
from allranks.diagnose.store import MIXTURES, PAGES, PROPOSALS, Collective, Store
from allranks.diagnose.symptom import Pattern

COLLECTIVES = frozenset((
    "allreduce", "broadcast", "barrier", "allgather", "allgatherbase", "allgatherintotensor", "reducescatter",
    "reducescattertensor", "alltoall", "alltoallsingle", "reduce", "gather", "scatter", "allgatherobject",
    "broadcastobjectlist", "monitoredbarrier",
))  # fmt: skip
"""Operations that every rank of a group must enter; a pipeline's sends and receives are none."""


SAMPLES_KEPT = 16
WAITS_FOR_MAIN = ("main_process_first", "preprocess_dataset")
"""Functions in which a rank waits until the main process has prepared the data."""


# ---- handlers: (store, line, match) ----


def _world_size(seen: Store, line: Line, match: Any) -> None:
    size = int(match.group(1))
    if 0 < size <= 1_000_000:
        sizes = seen.sizes_of(line)
        if len(sizes) < 16:
            sizes.add(size)


def _communicator(seen: Store, line: Line, match: Any) -> None:
    """NCCL's communicators have all ranks or some of them, so the size of the largest one is the world size."""
    sizes = seen.sizes_of(line)
    if int(match.group(1)) > max(sizes, default=0):
        sizes.clear()
        _world_size(seen, line, match)


def _collective(seen: Store, line: Line, match: Any) -> None:
    rank = seen.rank_of(line)
    if rank is None or rank in seen.collectives or len(seen.collectives) >= KEPT:
        return
    numel = re.search(r"NumelIn=(\d{1,18})\b", line.text)
    seen.collectives[rank] = Collective(
        int(match.group(1)), match.group(2), int(numel.group(1)) if numel else None, line
    )


def _last_work(seen: Store, line: Line, match: Any) -> None:
    rank = seen.rank_of(line)
    if rank is not None and len(seen.completed) < KEPT:
        seen.completed.setdefault(rank, (int(match.group(1)), int(match.group(2))))


def _nccl_version(seen: Store, line: Line, match: Any) -> None:
    if len(seen.nccl_versions) < KEPT:
        seen.nccl_versions.setdefault(line.node, match.group(1))


def _interface(seen: Store, line: Line, match: Any) -> None:
    if len(seen.interfaces) < KEPT:
        seen.interfaces.setdefault(line.node, (match.group(1), match.group(2), line))


def _preprocessing(seen: Store, line: Line, match: Any) -> None:
    if seen.preprocessing is None:
        seen.preprocessing = (seen.count, line)
    seen.preprocessing_last = (seen.count, line)


def _waits_for_main(seen: Store, line: Line, match: Any) -> None:
    """A frame of a rank that waits until the main process has prepared the data."""
    seen.words.add("waits-for-main")


def _noted(word: str) -> Callable[[Store, Line, Any], None]:
    """A handler that keeps that the logs have such a line."""

    def keep(seen: Store, line: Line, match: Any) -> None:
        seen.words.add(word)

    return keep


_model, _zero3 = _noted("moe"), _noted("zero3")


MARKS_KEPT = 1024
SPEAKING_LETTERS = 8
"""The least letters of a line of code that a program has only once."""


def _mark(seen: Store, line: Line, match: Any) -> None:
    """A line as documents and programs have it. If a line of code comes again and again, a program prints a part of its
    code with each error, as Tcl does."""
    if line.text.rstrip().endswith(("{", ";")) and sum(map(str.isalpha, line.text)) >= SPEAKING_LETTERS:
        if line.text[:200] in seen.marking:
            return
        if len(seen.marking) < MARKS_KEPT:
            seen.marking.add(line.text[:200])
    seen.marks, seen.marked = seen.marks + 1, seen.count


def _awaited(seen: Store, line: Line, match: Any) -> None:
    """A rank that waited in vain for NCCL's id names the rank that should have written it."""
    if len(seen.awaited) < KEPT:
        seen.awaited.setdefault(int(match.group(2)), int(match.group(1)))


def _awaits_first(seen: Store, line: Line, match: Any) -> None:
    """Rank 0 writes the NCCL id of the group of all ranks (`broadcastUniqueNCCLID`). -1: nobody knows who waits."""
    rank = seen.rank_of(line)
    if len(seen.awaited) < KEPT and rank != 0:
        seen.awaited.setdefault(0, -1 if rank is None else rank)


def _finished(seen: Store, line: Line, match: Any) -> None:
    seen.finished = True
    source = seen.sources[line.source]
    source.end, source.end_rank = seen.count, line.rank


def _wrapper_finished(seen: Store, line: Line, match: Any) -> None:
    """A line that a script around the training could print, too, however it ended."""
    _finished(seen, line, match)
    seen.sources[line.source].bare_end = seen.count


def _sample(seen: Store, line: Line, match: Any) -> None:
    """LLaMA-Factory prints one example of its data, which may hold any text."""
    seen.sources[line.source].sample = seen.count


def _after_sample(seen: Store, line: Line, match: Any) -> None:
    source = seen.sources[line.source]
    if source.sample and len(source.samples) < SAMPLES_KEPT:
        source.samples.append((source.sample, seen.count))
    source.sample = 0


def _launcher(seen: Store, line: Line, match: Any) -> None:
    if len(seen.closed_pids) < KEPT:
        seen.closed_pids.add((line.node, int(match.group(1))))


def _address(seen: Store, line: Line, match: Any) -> None:
    if line.node is not None and len(seen.addresses) < KEPT:
        seen.addresses.setdefault(match.group(1), line.node)


def _operation(seen: Store, line: Line, match: Any) -> None:
    """The collective in a rank's traceback, the last one on a line: torch's own frame, which comes last, is more exact
    than the script's line."""
    rank = seen.rank_of(line)
    if rank is not None and len(seen.operations) < KEPT:
        for name in match.re.findall(line.text):
            name = name.replace("_", "").lower()
            if name in COLLECTIVES:
                seen.operations[rank] = name


def on_frame(seen: Store, rank: "int | None", file: str, function: str) -> None:
    """The same for a frame that a rank reported as data."""
    if any(word in function for word in WAITS_FOR_MAIN):
        seen.words.add("waits-for-main")
    name = function.replace("_", "").lower()
    if rank is not None and file.endswith("distributed_c10d.py") and name in COLLECTIVES:
        seen.operations[rank] = name


def _forced(seen: Store, line: Line, match: Any) -> None:
    if len(seen.forced_pids) < KEPT:
        seen.forced_pids.add(int(match.group(1)))


def _barrier_missing(seen: Store, line: Line, match: Any) -> None:
    for rank in numbers(match.group(1).replace(" ", ""))[:64]:
        seen.missing_ranks.setdefault(rank, line)


_CALL = r"\bdist(?:ributed)?\.(\w{4,30})\("
_FRAME = r'distributed_c10d\.py", line \d{1,6}, in (\w{4,30})'


Handler = Callable[[Store, Line, Any], None]

FACTS: Tuple[Tuple[Pattern, Handler], ...] = (
    (Pattern("closing signal", r"Sending process (\d{1,9}) closing signal"), _launcher),
    (Pattern("local=", r"local=\[([\d.:a-f]{3,45})\]"), _address),
    (Pattern("forcefully exitting via", r"process (\d{1,9}) via"), _forced),
    (Pattern("forcefully exiting via", r"process (\d{1,9}) via"), _forced),
    (
        Pattern(
            "world_size",
            r"(?<!group_)(?<!parallel_)(?<!local_)(?<![a-z]p_)world_size['\"]?[=: ]{1,3}(\d{1,7})\b",
        ),
        _world_size,
    ),
    (Pattern("world size", r"[Ww]orld size[=: ]{1,3}(\d{1,7})\b"), _world_size),
    (Pattern("global_world_sizes", r"global_world_sizes=\[(\d{1,7})\b"), _world_size),
    (Pattern("Num processes", r"^Num processes: (\d{1,7})\b"), _world_size),
    (Pattern("nranks", r"\bnranks (\d{1,7})\b"), _communicator),
    (Pattern("WorkNCCL", r"WorkNCCL\(SeqNum=(\d{1,12}), OpType=(\w{1,40})[,)]"), _collective),
    (
        Pattern(
            "last enqueued",
            r"last enqueued (?:NCCL )?work: (-?\d{1,12}), last completed (?:NCCL )?work: (-?\d{1,12})",
        ),
        _last_work,
    ),
    (Pattern("NCCL version", r"NCCL version (\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)"), _nccl_version),
    (
        Pattern(
            "Using",
            r"(?:Bootstrap : Using |NET/Socket : Using \[0\])([\w.-]{1,40}):(\d{1,3}(?:\.\d{1,3}){3})",
        ),
        _interface,
    ),
    (Pattern("dist.", _CALL), _operation),
    (Pattern("distributed_c", _FRAME), _operation),
    (Pattern("tokenizer on dataset"), _preprocessing),
    (Pattern("Running tokenizer"), _preprocessing),
    (Pattern("Map", r"\bMap(?: \(num_proc=\d{1,4}\))?:\s{1,4}\d{1,3}%"), _preprocessing),
    *((Pattern(word), _preprocessing) for word in ("Tokenizing", "tokenizing")),
    (Pattern("Converting format"), _preprocessing),
    (Pattern("Grouping texts"), _preprocessing),
    (Pattern("Generating", r"Generating \w{1,40} split:"), _preprocessing),
    (Pattern("Packing"), _preprocessing),
    *((Pattern(word), _waits_for_main) for word in WAITS_FOR_MAIN),
    *((Pattern(word), _model) for word in MIXTURES),
    *((Pattern(word), _noted("proposal")) for word in PROPOSALS),
    *((Pattern(word), _noted("page")) for word in PAGES),
    (Pattern("Qwen", r"Qwen\S{0,20}-A\d{1,3}B\b"), _model),
    (Pattern("stage", r"(?i)(?:zero[_ -]?stage|\"stage\"|stage)[\"' :=_]{0,4}3\b"), _zero3),
    (Pattern("zero", r"(?i)zero[_ -]?3|zero/stage3"), _zero3),
    (Pattern("ZeRO", r"(?i)zero[_ -]{0,2}(?:stage )?3"), _zero3),
    (Pattern("inputs:", r"^(?:chosen_|rejected_|kl_)?inputs:$"), _sample),  # LLaMA-Factory 0.9.5
    (Pattern("label_ids:", r"^(?:chosen_|rejected_|kl_)?label_ids:$"), _after_sample),
    (Pattern("train_runtime"), _finished),
    (
        Pattern(
            "Training", r"\bTraining (?:[Cc]ompleted?|[Ff]inished|[Dd]one)\b(?! (?:epoch|step|iter|stage))"
        ),
        _wrapper_finished,
    ),
    (Pattern("after training is done"), _finished),
    (Pattern("run_stop", r"\"key\": \"run_stop\"(?!.{0,300}(?:abort|error))"), _finished),  # MLPerf
    (Pattern("stopped: `max_", r"`Trainer\.fit` stopped: `max_\w{1,20}=.{1,40}` reached"), _finished),
    (Pattern("done training in", r"\bdone training in \d"), _finished),
    (Pattern("Avg bus bandwidth", r"^# Avg bus bandwidth\s{1,9}: \d"), _finished),  # nccl-tests
    (
        Pattern("monitoredBarrier", r"[Rr]anks? ([\d, ]{1,400}) failed to pass monitoredBarrier"),
        _barrier_missing,
    ),
    (
        Pattern(
            "ncclUniqueId from",
            r"\[(\d{1,6})\] is setting up .{0,40}retr(?:ie|ei)ving ncclUniqueId from \[(\d{1,6})\]",
        ),
        _awaited,
    ),
    (
        Pattern("default_pg", r"(?i)wait timeout after .{0,20}keys: /?default_pg/\d{1,4}//cuda//\d"),
        _awaits_first,
    ),
    (Pattern("missing ranks", r"missing ranks: ?\{?([\d, ]{1,400})[\]}]"), _barrier_missing),
    (
        Pattern("received errors while waiting for", r"waiting for send/recv from rank (\d{1,7})"),
        _barrier_missing,
    ),
)


AnyLine = Union[Mark, closings.InChinese, closings.AtTerminal, dumped_stacks.PySpysFrame]
Finder = Union[Pattern, AnyLine]
IN_ANY_LINE: Tuple[Tuple[AnyLine, Handler], ...] = (
    (Mark(), _mark),
    closings.CHINESE,
    closings.CTRL_C,
    dumped_stacks.PY_SPYS_FRAME,
)
"""Facts without a word by which lines could be looked up."""


def by_word() -> Dict[str, List[Tuple[Pattern, Handler]]]:
    """The facts by the word they are looked up by."""
    found: Dict[str, List[Tuple[Pattern, Handler]]] = {}
    modules = (dumped_stacks, ends, figures, closings, going_on, leavers, ports, sections)
    for pattern, handler in (*FACTS, *(fact for module in modules for fact in module.FACTS)):
        found.setdefault(pattern.key, []).append((pattern, handler))
    return found
