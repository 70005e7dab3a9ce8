"""The verb `diagnose`: reads logs from files, folders, runs or standard input, and prints the causes that the
catalogue finds."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from allranks.cli import log_workers
from allranks.cli.common import print_json
from allranks.cli.log_arrays import cutter
from allranks.cli.log_files import (
    Log,
    is_dump_file,
    is_empty,
    is_gap,
    is_pipe,
    joined,
    logs_below,
    machines,
    opened,
    some,
    unreadable,
)
from allranks.cli.log_matcher import suspects
from allranks.cli.planned_figures import planned_figures
from allranks.core import BadInput, Diagnosis, Problem, Where, diagnosis_from_json
from allranks.core.causes import UNPROVEN
from allranks.core.file_kinds import is_file, is_folder, mode_of
from allranks.core.text import printable, spelt_out
from allranks.diagnose.shapes import Shapes

NOTHING = "nothing is wrong in these logs."
GAPS = "no line that was read names an error, but not all of these logs could be read (see above)."
MORE = "give the logs of all ranks and nodes, or the run's id."
LOOK = "Check the job's result: these exceptions may have left out a part of it."
CUT_OFF = (
    "no line names an error, and none says that the training ended: these logs may be cut off.\n"
    f"  a run that hangs, was killed or lost its machine looks the same; {MORE}"
)


def diagnose_command(options: argparse.Namespace) -> int:
    """Exit code 1: a cause is named; 0: the training reached its end and nothing is wrong; 3: the cause is not
    proved, nothing is wrong in the part of the logs that could be read, or exceptions were logged before a success."""
    from allranks.diagnose import cause
    from allranks.diagnose.symptoms.benign_noise import LOGGED

    notes: list[str] = []
    answer = of_paths(options.paths, notes, options.run_file)
    diagnosis, gaps = answer.diagnosis, any(map(is_gap, notes))
    healthy = cause(diagnosis.cause).healthy
    if healthy and gaps:  # what was not read may hold the cause
        diagnosis = replace(diagnosis, confidence="likely")
    if options.json:
        also = [name for name, _ in answer.also]
        if healthy and diagnosis.confidence != "certain":
            why = " ".join(_not_sure(diagnosis, gaps).split())
            diagnosis = replace(diagnosis, why=why, fix=LOOK if why.startswith(LOGGED) else MORE.capitalize())
        read = {"figures": dict(answer.figures), "disagreements": list(answer.disagreements)}
        print_json({**diagnosis.as_json(), "others": also, **read, "not_read": notes})
    else:
        for note in notes:
            print(spelt_out(note), file=sys.stderr)
        if healthy:
            print(_nothing(diagnosis) if diagnosis.confidence == "certain" else _not_sure(diagnosis, gaps))
            print_rows(figure_rows(answer))
        else:
            print_diagnosis(answer, options.paths)
    if healthy:
        return 0 if diagnosis.confidence == "certain" else 3
    return 3 if diagnosis.cause == UNPROVEN else 1


def _nothing(diagnosis: Diagnosis) -> str:
    """That nothing is wrong, or that the job reached its end in spite of errors."""
    from allranks.diagnose.symptoms.benign_noise import ON_THE_WAY

    told = next((line for line in diagnosis.evidence if line.startswith(ON_THE_WAY)), "")
    return f"the job reached its end; {spelt_out(told)}" if told else NOTHING


def _not_sure(diagnosis: Diagnosis, gaps: bool) -> str:
    """Why logs that name no error do not prove that all is well."""
    from allranks.diagnose.symptoms.benign_noise import LAST_OF_ALL, LOGGED

    told = (spelt_out(line) for line in diagnosis.evidence if line.startswith((LOGGED, LAST_OF_ALL)))
    return GAPS if gaps else next(told, CUT_OFF)


class Answer(NamedTuple):
    """The result of reading logs: the diagnosis, other causes as (cause, line), and the figures that the logs print."""

    diagnosis: Diagnosis
    also: Sequence[tuple[str, str]] = ()
    figures: Mapping[str, float] = MappingProxyType({})
    words: str = ""
    disagreements: Sequence[str] = ()


def of_paths(paths: list[str], notes: list[str], run_file: str | None = None) -> Answer:
    """The answer for a run, for logs and for dumps of flight recorders. Files that were not read are added to
    `notes`. The figures are compared with the plan of `run_file`."""
    from allranks.diagnose import Evidence, cause, conclude, others
    from allranks.diagnose.figures import against, disagreements, figures, in_words
    from allranks.diagnose.samples import lines_of_each

    lost = of_lost_run(paths)
    if lost is not None:
        return Answer(lost)
    planned = planned_figures(run_file) if run_file else {}
    logs, dumps = resolve(paths, notes)
    empty = [file for log in logs for file in log.files if is_empty(file)]
    notes += [f"empty: {some(empty)}"] if empty else []
    shapes = Shapes()
    seen = Evidence(shapes)
    seen.samples.of_each, seen.reads_ends = lines_of_each(len(logs)), are_few(logs)
    for one in scanned(logs, notes, shapes):
        seen.take(one)
    told, also = in_files(conclude(seen), logs), []
    known = cause(told.cause)
    recorded = None
    if dumps and (told.cause == UNPROVEN or known.is_blame or known.healthy):
        recorded = of_dumps(dumps, notes)
    if recorded is not None and (recorded.cause != UNPROVEN or told.cause == UNPROVEN):
        told = recorded
    else:
        also = others(seen, told)
    but = [*disagreements(seen), *against(seen, planned)]
    return Answer(told, also, figures(seen), in_words(seen), but)


def in_files(told: Diagnosis, logs: list[Log]) -> Diagnosis:
    """Names the file and its line, instead of the log that several files were joined into."""
    files = next((log.files for log in logs if log.name == told.where.file and len(log.files) > 1), ())
    line, unused = told.where.line or 0, []
    for file in files if line else ():
        length = sum(block.count(b"\n") + 1 for block in blocks(Log(file, (file,)), unused))
        if line <= length:
            return replace(told, where=replace(told.where, file=file, line=line))
        line -= length
    return told


def of_dumps(files: list[str], notes: list[str]) -> Diagnosis | None:
    from allranks.monitor import flight_dumps

    found = []
    for file in files:
        try:
            found.append(flight_dumps.read(file, Path(file).read_bytes()))
        except (ValueError, OSError) as error:
            notes.append(f"not read: {file}: {error}")
    return flight_dumps.judge(found) if found else None


def of_lost_run(paths: list[str]) -> Diagnosis | None:
    """The diagnosis of a run whose keeper died: it wrote no verdict, and its logs show only the consequences. None
    for anything else."""
    if len(paths) != 1 or paths[0] == "-" or mode_of(paths[0]):
        return None
    import asyncio

    from allranks.node import run_reader
    from allranks.output.pages import known
    from allranks.runs.index import find

    try:
        state = run_reader.status(asyncio.run(find(paths[0])))
    except BadInput:
        return None
    found = state.get("diagnosis")
    if state.get("state") != "lost" or not isinstance(found, dict):
        return None
    told = diagnosis_from_json(found)
    if told.cause not in known():  # of a newer version
        return replace(told, cause=UNPROVEN, confidence=UNPROVEN, why=f"{told.cause}: {told.why}")
    return told


def print_diagnosis(answer: Answer, paths: list[str]) -> None:
    """Prints the cause, the confidence, the place and the lines; then the reason, the fix, other possible causes, and
    the next command."""
    from allranks.diagnose.catalogue import ids, similar, title

    diagnosis, also = answer.diagnosis, answer.also
    unproven = diagnosis.cause == UNPROVEN
    if unproven:
        what = "No known cause found in these logs"
    elif diagnosis.cause in ids():
        what = title(diagnosis.cause)
    else:  # a statement of the keeper's own, such as a dead head
        from allranks.output.pages import known

        what = known()[diagnosis.cause].title
    print(f"{what} ({diagnosis.cause if unproven else diagnosis.confidence})")
    where = diagnosis.where
    said = ", ".join(part for part in (place(where), log_line(where)) if part)
    rows = [("where", said or "no line names a rank or a node")]
    rows += [("line" if n == 0 else "", text) for n, text in enumerate(diagnosis.evidence)]
    rows += [("why", diagnosis.why), ("fix", diagnosis.fix)]
    rows += [("or" if n == 0 else "", f"{cause}: {text}") for n, (cause, text) in enumerate(also)]
    if not also and diagnosis.confidence == "likely":
        rows.append(("or", similar(diagnosis.cause)))
    if diagnosis.collateral:
        rows.append(("affected", affected(diagnosis.collateral)))
    rows += figure_rows(answer)
    rows.append(("next", following(diagnosis, paths)))
    print_rows(rows)


def figure_rows(answer: Answer) -> list[tuple[str, str]]:
    rows = [("figures", answer.words)]
    return rows + [("but" if n == 0 else "", text) for n, text in enumerate(answer.disagreements)]


def print_rows(rows: list[tuple[str, str]]) -> None:
    width = max(60, min(shutil.get_terminal_size().columns, 120))
    for name, text in rows:
        if text:
            first = f"  {name:9}"
            print(
                textwrap.fill(
                    spelt_out(text),
                    width,
                    initial_indent=first,
                    subsequent_indent=" " * 11,
                    break_on_hyphens=False,
                )
            )


def place(where: Where) -> str:
    node = f"node {where.node}" if where.node is not None else ""
    rank = f"rank {where.rank}" if where.rank is not None else ""
    gpu = f"GPU {where.gpu}" if where.gpu is not None else ""
    return ", ".join(part for part in (node, rank, gpu) if part)


def log_line(where: Where) -> str:
    if where.file is None:
        return ""
    return f"{where.file}:{where.line}" if where.line else where.file


def affected(collateral: tuple[Where, ...]) -> str:
    """Ranks as ranges, `0-3, 7`, and the machines of places without a rank."""
    ranks = sorted({where.rank for where in collateral if where.rank is not None})
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    told = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
    nodes = sorted({where.node for where in collateral if where.rank is None and where.node is not None})
    who = ([f"{'rank' if len(ranks) == 1 else 'ranks'} {told}"] if told else []) + nodes
    return f"{', '.join(who)} (failed as a consequence)"


def following(diagnosis: Diagnosis, paths: list[str]) -> str:
    """The command that shows more."""
    if diagnosis.cause != UNPROVEN:
        return f"allranks explain {diagnosis.cause}"
    if diagnosis.where.rank is None and diagnosis.where.node is None and len(paths) == 1:
        return ""  # of a single program, as far as it shows
    return "allranks diagnose " + " ".join(map(shlex.quote, paths[:3])) + " LOGS-OF-ALL-OTHER-RANKS"


def scanned(logs: list[Log], notes: list[str], shapes: Shapes | None = None) -> Iterator:
    """The content of all logs, read when it is needed: lines, and stretches of lines without information."""
    return log_workers.scanned(logs, machines([log.name for log in logs]), notes, scanner(logs, shapes))


FREED_BYTES = 1 << 24
"""Once a process has freed so much at a time, glibc keeps the memory of smaller blocks for the next ones (mallopt(3)
on its dynamic threshold). Before that it would give back the memory of each block of a log, and take it again."""


def are_few(logs: Sequence[Log]) -> bool:
    """Whether the last lines of each log are read one by one."""
    from allranks.diagnose.samples import FEW

    return sum(not all(map(is_empty, log.files)) for log in logs) <= FEW


def scanner(logs: Sequence[Log] = (), shapes: Shapes | None = None) -> log_workers.Scan:
    """Returns a function that scans logs one after the other. It remembers the kinds of lines, also for the next
    log. If several processes scan these logs, the matcher and the cutter are made before they part."""
    from allranks.diagnose.kinds import Kinds
    from allranks.diagnose.samples import lines_of_each
    from allranks.diagnose.scan import scan

    kinds = Kinds(suspects, cutter, shapes)
    _ = bytes(FREED_BYTES)
    if log_workers.are_shared(list(logs)):
        kinds.make_matcher()
        kinds.make_cutter()
    of_each = None if are_few(logs) else lines_of_each(len(logs))
    return lambda log, host, notes: scan(blocks(log, notes), log.name, host, kinds, of_each)


def blocks(log: Log, notes: list[str]) -> Iterator[bytes]:
    from allranks.diagnose.blocks import whole_lines

    for file in log.files:
        with opened(file, notes) as read:
            if read is not None:
                yield from whole_lines(read)


def resolve(paths: list[str], notes: list[str]) -> tuple[list[Log], list[str]]:
    """(logs, dumps of flight recorders). A file stands for itself, a folder for its contents, and any other path for
    a run that is known here. All invalid paths are in one error."""
    found: list[Log] = []
    files: list[str] = []
    dumps: list[str] = []
    problems: list[Problem] = []
    for path in paths:
        if path == "-" or is_pipe(path):
            found.append(Log(path, (path,)))
        elif path and is_file(path):
            (dumps if is_dump_file(path) else files).append(path)
        elif not path:
            problems.append(Problem("an empty name (is a variable unset?)", do="a file, a folder or a run"))
        elif is_folder(path):
            logs, recorded = logs_below(path, problems, notes)
            found += logs
            dumps += recorded
        else:
            found += [Log(name, (name,)) for name in logs_of_run(path, problems)]
    found = joined(list(dict.fromkeys(files))) + found
    names = [file for log in found for file in log.files if file != "-"]
    problems += [problem for name in names if (problem := unreadable(name)) is not None]
    if problems:
        raise BadInput(problems)
    return found, dumps


def logs_of_run(name: str, problems: list[Problem]) -> list[str]:
    import asyncio

    from allranks.runs.index import directory_here, find

    try:
        run_id = asyncio.run(find(name))
    except BadInput:
        problems.append(
            Problem(
                f"{printable(name)} is not a file, a folder or a run that is known here",
                do="allranks ps lists the runs",
            )
        )
        return []
    try:
        directory = directory_here(run_id)
    except BadInput as error:
        problems += error.problems
        return []
    return sorted(str(p) for p in Path(directory.root).glob("nodes/*/logs/*.log"))
