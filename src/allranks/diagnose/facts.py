"""Facts that logs contain besides symptoms: exit codes, world sizes, collectives, versions, interfaces.

A single fact does not name a cause. The symptoms' `judge` functions compare facts over ranks and nodes.
"""

from __future__ import annotations

import re
import signal
from typing import Any, Callable, Dict, List, Tuple

from allranks.diagnose import figures
from allranks.diagnose.lines import Line
from allranks.diagnose.source_lines import Mark
from allranks.diagnose.store import MIXTURES, PAGES, PROPOSALS, Collective, Exit, Store
from allranks.diagnose.symptom import Pattern

KEPT = 16384
"""Rows of exit codes kept: more than any run has ranks."""


COLLECTIVES = frozenset((
    "allreduce", "broadcast", "barrier", "allgather", "allgatherbase", "allgatherintotensor", "reducescatter",
    "reducescattertensor", "alltoall", "alltoallsingle", "reduce", "gather", "scatter", "allgatherobject",
    "broadcastobjectlist", "monitoredbarrier",
))  # fmt: skip
"""Operations that every rank of a group must enter; a pipeline's sends and receives are none."""


WAITS_FOR_MAIN = ("main_process_first", "preprocess_dataset")
"""Functions in which a rank waits until the main process has prepared the data."""


def signal_code(code: int) -> int:
    """128 + n, as shells and containers say it, is signal n: 137 is -9. Other codes stay."""
    return 128 - code if code in (129, 130, 131, 132, 134, 135, 136, 137, 139, 143) else code


# ---- handlers: (store, line, match) ----


def _row_rank(seen: Store, line: Line, match: Any) -> None:
    row = seen.row(line)
    row.update(rank=int(match.group(1)), local=int(match.group(2)))


def _row_time(seen: Store, line: Line, match: Any) -> None:
    seen.row(line)["at"] = seen.moment(match.group(1))


def _row_host(seen: Store, line: Line, match: Any) -> None:
    seen.row(line)["host"] = match.group(1)


def _row_exit(seen: Store, line: Line, match: Any) -> None:
    """A row whose beginning was cut off names no rank."""
    row = seen.row(line)
    rank, local, at = row.get("rank"), row.get("local"), row.get("at")
    _exit(seen, line, int(match.group(1)), rank, local, int(match.group(2)), at)
    row.clear()


def _spawned_exit(seen: Store, line: Line, match: Any) -> None:
    """A process of torch.multiprocessing.spawn, whose number is its rank on one node, of Composer's or Horovod's."""
    told = match.groupdict()
    value = int(told["code"]) if told.get("code") else -int(getattr(signal, told["signal"], 0))
    _exit(seen, line, value, int(match.group("rank")), None, None)


def _raised_of(seen: Store, line: Line, match: Any) -> None:
    """A launcher that repeats the exception of another process names that process's rank."""
    if all(known.rank != int(match.group(1)) for known in seen.exits):
        _exit(seen, line, 1, int(match.group(1)), None, None)


def _agent_exit(seen: Store, line: Line, match: Any) -> None:
    _exit(seen, line, int(match.group(1)), None, int(match.group(2)), int(match.group(3)))


def _launch_exit(seen: Store, line: Line, match: Any) -> None:
    local = int(match.group("local")) if match.group("local") else None
    _exit(seen, line, int(match.group("code")), line.rank, local, None)


def _srun_exit(seen: Store, line: Line, match: Any) -> None:
    code, crash = match.group("code"), match.group("crash")
    value = int(code) if code else {"Aborted": -6, "Segmentation fault": -11}.get(crash, -9)
    for task in _numbers(match.group("tasks")):
        _exit(seen, line._replace(node=match.group("host") or line.node), value, task, None, None)


def _mpi_exit(seen: Store, line: Line, match: Any) -> None:
    where = line._replace(node=match.group(2))
    _exit(seen, where, -int(match.group(3)), int(match.group(1)), None, None)


def _numbers(text: str) -> List[int]:
    """`0-3,7` as numbers, 4,096 at most."""
    found: List[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit() and (not high or high.isdigit()):
            found.extend(range(int(low), min(int(high or low), int(low) + 4096) + 1))
    return found[:4096]


def _exit(
    seen: Store,
    line: Line,
    code: int,
    rank: "int | None",
    local: "int | None",
    pid: "int | None",
    at: "float | None" = None,
) -> None:
    if len(seen.exits) >= KEPT:
        return
    if pid is not None:
        number = seen.exits_by_pid.get((line.node, pid))
        if number is not None:
            known = seen.exits[number]
            if known.rank is None and rank is not None:
                seen.exits[number] = known._replace(
                    rank=rank, local=local, at=at if at is not None else known.at
                )
            return
        seen.exits_by_pid[(line.node, pid)] = len(seen.exits)
    at = at if at is not None else seen.now(line)
    seen.exits.append(Exit(rank, local, line.node, signal_code(code), pid, seen.count, at, line))


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


def _mark(seen: Store, line: Line, match: Any) -> None:
    seen.marks += 1


def _awaited(seen: Store, line: Line, match: Any) -> None:
    """A rank that waited in vain for NCCL's id names the rank that should have written it."""
    if len(seen.awaited) < KEPT:
        seen.awaited.setdefault(int(match.group(2)), int(match.group(1)))


def _finished(seen: Store, line: Line, match: Any) -> None:
    seen.finished = True
    source = seen.sources[line.source]
    source.end, source.end_rank = seen.count, line.rank


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
    for rank in _numbers(match.group(1).replace(" ", ""))[:64]:
        seen.missing_ranks.setdefault(rank, line)


_CALL = r"\bdist(?:ributed)?\.(\w{4,30})\("
_FRAME = r'distributed_c10d\.py", line \d{1,6}, in (\w{4,30})'


Handler = Callable[[Store, Line, Any], None]

FACTS: Tuple[Tuple[Pattern, Handler], ...] = (
    (Pattern("(local_rank: ", r"rank\s{1,9}: (\d{1,7}) \(local_rank: (\d{1,5})\)"), _row_rank),
    (Pattern("time ", r"time\s{1,9}: (\d{4}-\d\d-\d\d[_ ]\d\d:\d\d:\d\d)"), _row_time),
    (Pattern("host ", r"^\s{0,40}host\s{1,9}: (\S{1,80})"), _row_host),
    (Pattern("exitcode ", r"exitcode\s{1,9}: (-?\d{1,5}) \(pid: (\d{1,9})\)"), _row_exit),
    (
        Pattern("(exitcode: ", r"exitcode: (-?\d{1,5})\) local_rank: (\d{1,5}) \(pid: (\d{1,9})\)"),
        _agent_exit,
    ),
    (Pattern("terminated with the following error", r"Process (\d{1,7}) terminated with"), _raised_of),
    (
        Pattern(
            "terminated with",
            r"process (?P<rank>\d{1,7}) terminated with "
            r"(?:signal (?P<signal>SIG[A-Z]{2,8})|exit code (?P<code>\d{1,3}))",
        ),
        _spawned_exit,
    ),
    (
        Pattern("crashed with", r"Rank (?P<rank>\d{1,7}) crashed with exit code (?P<code>-?\d{1,3})"),
        _spawned_exit,
    ),
    (
        Pattern(
            "exited with code", r"rank (?P<rank>\d{1,7}) \(PID \d{1,9}\) exited with code (?P<code>-?\d{1,3})"
        ),
        _spawned_exit,
    ),
    (Pattern("exit with status", r"Process (?P<rank>\d{1,6}) exit\D{1,24}(?P<code>\d{1,3})"), _spawned_exit),
    (Pattern("Traceback (most recent call last", r"\(RANK (\d{1,7})\)"), _raised_of),
    (
        Pattern(
            "exits with return code",
            r"(?:--local[_-]rank=(?P<local>\d{1,4})\b.{0,4000})?exits with return code = (?P<code>-?\d{1,5})",
        ),
        _launch_exit,
    ),
    (
        Pattern(
            " task",
            r"(?:error|srun): (?:(?P<host>[\w.-]{1,80}): )?tasks? (?P<tasks>[\d,-]{1,400}): "
            r"(?:Killed|Exited with exit code (?P<code>\d{1,3})|Out Of Memory|(?P<crash>Aborted"
            r"|Segmentation fault))",
        ),
        _srun_exit,
    ),
    (
        Pattern(
            "exited on signal",
            r"rank (\d{1,7}) with PID \d{1,9} on node (\S{1,80}) exited on signal (\d{1,2})",
        ),
        _mpi_exit,
    ),
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
    (Pattern("WorkNCCL", r"WorkNCCL\(SeqNum=(\d{1,12}), OpType=(\w{1,40})"), _collective),
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
    (Pattern("train_runtime"), _finished),
    (
        Pattern(
            "Training", r"\bTraining (?:[Cc]ompleted?|[Ff]inished|[Dd]one)\b(?! (?:epoch|step|iter|stage))"
        ),
        _finished,
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
            "retrieving ncclUniqueId",
            r"\[(\d{1,6})\] is setting up .{0,40}retrieving ncclUniqueId from \[(\d{1,6})\]",
        ),
        _awaited,
    ),
    (Pattern("missing ranks", r"\[missing ranks: ?([\d, ]{1,400})\]"), _barrier_missing),
)


MARK: Tuple[Mark, Handler] = (Mark(), _mark)


def by_word() -> Dict[str, List[Tuple[Pattern, Handler]]]:
    """The facts by the word they are looked up by."""
    found: Dict[str, List[Tuple[Pattern, Handler]]] = {}
    for pattern, handler in (*FACTS, *figures.FACTS):
        found.setdefault(pattern.key, []).append((pattern, handler))
    return found
