"""The ends of processes, as torchrun, torch's spawn, DeepSpeed, srun and the MPIs report them."""

from __future__ import annotations

import re
import signal
from typing import Any, Callable, List, Tuple

from allranks.diagnose.lines import Line
from allranks.diagnose.store import RANKS_KEPT, Exit, Store
from allranks.diagnose.symptom import Pattern

KEPT = 16384
"""Ends of processes kept: more than any run has ranks."""

LISTED_WITHIN = 64
"""Lines in which Horovod's list of missing ranks ends."""


def signal_code(code: int) -> int:
    """128 + n, as shells and containers say it, is signal n: 137 is -9. Other codes stay."""
    return 128 - code if code in (129, 130, 131, 132, 134, 135, 136, 137, 139, 143) else code


def numbers(text: str) -> List[int]:
    """`0-3,7` as numbers, 4,096 at most."""
    found: List[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit() and (not high or high.isdigit()):
            found.extend(range(int(low), min(int(high or low), int(low) + 4096) + 1))
    return found[:4096]


def _row_rank(seen: Store, line: Line, match: Any) -> None:
    row = seen.row(line)
    row.update(rank=int(match.group(1)), local=int(match.group(2)))


def _row_time(seen: Store, line: Line, match: Any) -> None:
    seen.row(line)["at"] = seen.moment(match.group(1))


def _row_host(seen: Store, line: Line, match: Any) -> None:
    seen.row(line)["host"] = match.group(1)


def _row_root(seen: Store, line: Line, match: Any) -> None:
    seen.row(line)["root"] = True


def _row_exit(seen: Store, line: Line, match: Any) -> None:
    """A row whose beginning was cut off names no rank. The root cause comes last in its table, and was the first to
    fail."""
    row = seen.row(line)
    rank, local, at, begun = row.get("rank"), row.get("local"), row.get("at"), row.get("begun", seen.count)
    _exit(seen, line, int(match.group(1)), rank, local, int(match.group(2)), at)
    is_root = row.get("root")
    row.clear()
    row.update(of=rank, since=seen.count)
    if is_root:
        seen.put_first(seen.exits_by_pid.get((line.node, int(match.group(2)))), begun)
        seen.root_cause = rank if seen.root_cause is None else seen.root_cause
    else:
        row["begun"] = begun


def _named_process(seen: Store, line: Line, match: Any) -> None:
    seen.row(line)["process"] = int(match.group(1))


def _process_exit(seen: Store, line: Line, match: Any) -> None:
    """The first process that failed, as Open MPI names it."""
    process = seen.row(line).pop("process", None)
    if process is not None:
        _exit(seen, line, int(match.group(1)), process, None, None)


def _process_killed(seen: Store, line: Line, match: Any) -> None:
    """The process that failed, as Intel MPI names it."""
    process = seen.row(line).pop("process", None)
    if process is not None:
        _exit(seen, line, -int(match.group(1)), process, None, None)


def _missing_listed(seen: Store, line: Line, match: Any) -> None:
    seen.row(line)["listed"] = seen.count


def _missing_of(seen: Store, line: Line, match: Any) -> None:
    """A line of Horovod's list, `1: [HorovodAllreduce_w_0, …]`; the rank was taken for a prefix."""
    if line.task is not None and seen.count - seen.row(line).get("listed", -LISTED_WITHIN) < LISTED_WITHIN:
        seen.missing_ranks.setdefault(line.task, line)


def _spawned_exit(seen: Store, line: Line, match: Any) -> None:
    """A process of torch.multiprocessing.spawn, whose number is its rank on one node, of Composer's or Horovod's."""
    told = match.groupdict()
    ended = int(told.get("number") or getattr(signal, told.get("signal") or "", 0))
    value = int(told["code"]) if told.get("code") else -ended
    _exit(seen, line, value, int(match.group("rank")), None, None)


_NAMED_EXIT = (
    r"(?i)(?:^|[\s:\]|])(?:rank|worker|process|proc|actor|trainer|learner)[ _#-]?(?P<rank>\d{1,5})\b"
    r"(?: \(pid \d{1,9}\)| (?:has|is|was))?:? (?:(?:(?:exit(?:ed|s)?|died|terminated|ended|back|came back"
    r"|finished(?= with (?:exit |return ?)?(?:code|status|rc|signal)\b))"
    r"(?:,? with)?(?: (?:exit |return ?)?(?:code|status|rc|signal))?[ :=(]{1,3}(?P<code>-?\d{1,3}))"
    r"|returned (?P<result>[012]|255|1(?:2[6-9]|3\d|4[0-3])))\)?[.,;]?\s{0,8}$"
)
"""How scripts that start the ranks themselves report their ends. Programs return other numbers, too."""


_OF_LOADER = re.compile(r"(?i)data ?loader|data worker")


def _named_exit(seen: Store, line: Line, match: Any) -> None:
    rank = int(match.group("rank"))
    if not _OF_LOADER.search(line.text) and rank not in seen.exited and (match.group("code") or seen.hits):
        _exit(seen, line, int(match.group("code") or match.group("result")), rank, None, None)


_SIGNALLED = (
    r"(?i)(?:^|[\s:\]|])(?:rank|worker|process|proc|actor|trainer|learner)[ _#-]?(?P<rank>\d{1,5})\b"
    r"(?: \([^()]{1,40}\))?(?: (?:has|is|was))?(?: been)?:? (?!terminated with |died from )"
    r"(?:killed|ended|terminated|died|stopped|exited)"
    r"(?: (?:by|on|with|from))?(?:(?: signal)?:? \(?(?P<signal>(?-i:SIG[A-Z]{2,8}))\)?"
    r"| signal:? (?P<number>\d{1,2})(?: \([A-Za-z ]{1,30}\))?)[.,;]?\s{0,8}$"
)


def _signalled(seen: Store, line: Line, match: Any) -> None:
    rank, number, name = int(match.group("rank")), match.group("number"), match.group("signal")
    ended = int(number or getattr(signal, name or "", 0))
    if ended and not _OF_LOADER.search(line.text) and rank not in seen.exited:
        _exit(seen, line, -ended, rank, None, None)


def _all_codes(seen: Store, line: Line, match: Any) -> None:
    """A list with the exit code of each rank."""
    for rank, code in enumerate(match.group("codes").split(",")):
        if rank not in seen.exited:
            _exit(seen, line, int(code), rank, None, None)


def _raised_of(seen: Store, line: Line, match: Any) -> None:
    """A launcher that repeats the exception of another process names that process's rank."""
    rank, stream = int(match.group(1)), seen.seen_of(line)
    stream.process = stream.lines, rank
    if rank not in seen.exited:
        _exit(seen, line, 1, rank, None, None)


def _agent_exit(seen: Store, line: Line, match: Any) -> None:
    _exit(seen, line, int(match.group(1)), None, int(match.group(2)), int(match.group(3)))


def _launch_exit(seen: Store, line: Line, match: Any) -> None:
    """DeepSpeed's launcher prints the command of the last process that it started, whichever failed
    (`deepspeed/launcher/launch.py`, 0.19.8). If it is local rank 0, it was the only one."""
    local = 0 if match.group("local") == "0" else None
    _exit(seen, line, int(match.group("code")), line.rank, local, None)


def _task_exit(seen: Store, line: Line, match: Any) -> None:
    """The end of a task of Nextflow, or of a rank of Lightning, which is named before it."""
    _exit(seen, line, int(match.group(1)), line.rank, None, None)


def _srun_exit(seen: Store, line: Line, match: Any) -> None:
    code, crash = match.group("code"), match.group("crash")
    value = int(code) if code else {"Aborted": -6, "Segmentation fault": -11}.get(crash, -9)
    for task in numbers(match.group("tasks")):
        _exit(seen, line._replace(node=match.group("host") or line.node), value, task, None, None)


def _step_ended(seen: Store, line: Line, match: Any) -> None:
    seen.step_ended = seen.step_ended or seen.count


def _mpi_exit(seen: Store, line: Line, match: Any) -> None:
    where = line._replace(node=match.group(2))
    _exit(seen, where, -int(match.group(3)) if match.group(3) else 1, int(match.group(1)), None, None)


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
                seen.exited.add(rank)
                seen.exits[number] = known._replace(
                    rank=rank, local=local, at=at if at is not None else known.at
                )
                seen.exit_ranks.setdefault((known.node, local), rank)
            return
        seen.exits_by_pid[(line.node, pid)] = len(seen.exits)
    at = at if at is not None else seen.now(line)
    steps = seen.sources[line.source].steps
    seen.exits.append(Exit(rank, local, line.node, signal_code(code), pid, seen.count, at, line, steps))
    seen.last_exit = seen.count if code else seen.last_exit
    if rank is not None:
        seen.exited.add(rank)
        seen.exit_ranks.setdefault((line.node, local), rank)


def _actor(seen: Store, line: Line, match: Any) -> None:
    """verl names an actor by its class, the number of its placement group and the rank in it (`RayWorkerGroup`); the
    first group holds the first ranks."""
    if len(seen.actors) < RANKS_KEPT:
        seen.actors[seen.count] = int(match.group(1))


FACTS: Tuple[Tuple[Pattern, Callable[[Store, Line, Any], None]], ...] = (
    (Pattern("(local_rank: ", r"rank\s{1,9}: (\d{1,7}) \(local_rank: (\d{1,5})\)"), _row_rank),
    (Pattern("time ", r"time\s{1,9}: (\d{4}-\d\d-\d\d[_ ]\d\d:\d\d:\d\d)"), _row_time),
    (Pattern("host ", r"^\s{0,40}host\s{1,9}: (\S{1,80})"), _row_host),
    (Pattern("exitcode ", r"exitcode\s{1,9}: (-?\d{1,5}) \(pid: (\d{1,9})\)"), _row_exit),
    (
        Pattern("(exitcode: ", r"exitcode: (-?\d{1,5})\) local_rank: (\d{1,5}) \(pid: (\d{1,9})\)"),
        _agent_exit,
    ),
    (
        Pattern("terminated with", r"Process (\d{1,7}) terminated with(?: the\b|$)"),
        _raised_of,
    ),
    (Pattern("Root Cause (first"), _row_root),
    (Pattern("name: ", r"^\s{0,8}name: \w{2,80}_0:(\d{1,4})$"), _actor),
    (Pattern("Exception in device", r"Exception in device=[A-Z]{2,8}:(\d{1,6})\b"), _raised_of),  # torch_xla
    (Pattern("Missing ranks", r"^Missing ranks:$"), _missing_listed),
    *(
        (Pattern(word, rf"^\[.{{0,400}}{word}"), _missing_of)
        for word in (
            "HorovodAllreduce",
            "HorovodBroadcast",
            "HorovodAllgather",
            "allreduce",
            "broadcast",
            "allgather",
        )
    ),
    (Pattern("Process name: ", r"Process name: \[\[\d{1,9},\d{1,6}\],(\d{1,6})\]"), _named_process),
    (Pattern("RUNNING AT ", r"^=\s{1,9}RANK (\d{1,7}) PID \d{1,9} RUNNING AT "), _named_process),  # Intel MPI
    (Pattern("KILLED BY SIGNAL: ", r"^=\s{1,9}KILLED BY SIGNAL: (\d{1,2})\b"), _process_killed),
    (
        Pattern(
            "status failed",
            r"Container rank (?P<rank>\d{1,7}) status failed .{0,4000}\bcode (?P<code>-?\d{1,3})\b",
        ),
        _spawned_exit,
    ),  # PaddlePaddle
    (
        Pattern("Child process with", r"Child process with PID \d{1,9} terminated with code (-?\d{1,3})"),
        _task_exit,
    ),
    (Pattern("Exit code: ", r"^\s{0,9}Exit code:\s{1,9}(\d{1,3})\s{0,9}$"), _process_exit),
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
            "exited with code",
            r"rank (?P<rank>\d{1,7})(?: \(PID \d{1,9}\))? exited with code (?P<code>-?\d{1,3})",
        ),
        _spawned_exit,
    ),
    (
        Pattern("died from signal", r"rank (?P<rank>\d{1,7}) died from signal (?P<number>\d{1,2})"),
        _spawned_exit,
    ),  # PALS
    (Pattern("exit with status", r"Process (?P<rank>\d{1,6}) exit\D{1,24}(?P<code>\d{1,3})"), _spawned_exit),
    *(
        (Pattern(word, _NAMED_EXIT), _named_exit)
        for word in (
            "returned",
            "exited",
            "exit",
            "is back",
            "came back",
            "died",
            "ended with",
            "finished with",
        )
    ),
    *(
        (Pattern(word, _SIGNALLED), _signalled)
        for word in ("SIGTERM", "SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGINT", "SIGHUP", " signal ")
    ),
    *(
        (
            Pattern(
                word,
                r"(?i)(?:exit|return)[ _-]?codes?['\"]?[ :=]{1,3}\[(?P<codes>-?\d{1,3}(?:, {0,2}-?\d{1,3}){1,1023})\]",
            ),
            _all_codes,
        )
        for word in ("exit codes", "exit_codes", "exitcodes", "returncodes", "return codes", "return_codes")
    ),
    (Pattern("Traceback (most recent call last", r"\(RANK (\d{1,7})\)"), _raised_of),
    (
        Pattern(
            "exits with return code",
            r"(?:--local[_-]rank=(?P<local>\d{1,4})\b.{0,4000})?exits with return code = (?P<code>-?\d{1,5})",
        ),
        _launch_exit,
    ),
    *(
        (
            Pattern(
                word,
                r"(?:error|srun): (?:(?P<host>[\w.-]{1,80}): )?tasks? (?P<tasks>[\d,-]{1,400}): "
                r"(?:Killed|Exited with exit code (?P<code>\d{1,3})|Out Of Memory|(?P<crash>Aborted"
                r"|Segmentation fault))",
            ),
            _srun_exit,
        )
        for word in (" task ", " tasks ")
    ),
    (
        Pattern(
            "noticed that process",
            r"rank (\d{1,7}) with PID \d{1,9} on node (\S{1,80}) exited(?: on signal (\d{1,2})|(?: on)?$)",
        ),
        _mpi_exit,
    ),
    (
        Pattern("error exit status", r"terminated with an error exit status \((\d{1,3})\)"),
        _task_exit,
    ),  # Nextflow
    (Pattern("Terminating StepId", r"srun: "), _step_ended),
    (Pattern("CANCELLED", r"\*\*\* STEP \S{1,40} ON \S{1,80} CANCELLED AT"), _step_ended),
)
