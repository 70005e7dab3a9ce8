"""The verb `diagnose`: read logs from files, folders, runs or standard input; say what the catalogue says."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from allranks.cli.common import print_json
from allranks.core import NOTE, UNKNOWN, BadInput, Diagnosis, Problem, where_from_json
from allranks.core.causes import UNPROVEN

LOG_SUFFIXES = (".log", ".txt", ".out", ".err")

NOTHING = "nothing is wrong in these logs."
CUT_OFF = (
    "no line names an error, and none says that the training ended: these logs may be cut off.\n"
    "  a run that hangs, was killed or lost its machine looks the same; give the logs of all ranks and nodes, "
    "or the run's id."
)


def diagnose_command(options: argparse.Namespace) -> int:
    """Exit code 1: a cause is named; 0: the training came to its end and nothing is wrong; 3: nothing is proved."""
    from allranks.diagnose import cause, diagnose

    diagnosis = of_lost_run(options.paths) or diagnose(lines(options.paths))
    healthy = cause(diagnosis.cause).healthy
    if options.json:
        print_json(diagnosis.as_json())
    elif healthy:
        print(NOTHING if diagnosis.confidence == "certain" else CUT_OFF)
    else:
        print_diagnosis(diagnosis)
    if healthy:
        return 0 if diagnosis.confidence == "certain" else 3
    return 3 if diagnosis.cause == UNPROVEN else 1


def of_lost_run(paths: list[str]) -> Diagnosis | None:
    """A run whose keeper died wrote no verdict, and its logs tell the consequences alone; None of anything else."""
    if len(paths) != 1 or paths[0] == "-" or Path(paths[0]).exists():
        return None
    from allranks.node import run_reader
    from allranks.runs.index import find

    try:
        state = run_reader.status(asyncio.run(find(paths[0])))
    except BadInput:
        return None
    found = state.get("diagnosis")
    if state.get("state") != "lost" or not isinstance(found, dict):
        return None
    return Diagnosis(**{**found, "where": where_from_json(found["where"])})


def print_diagnosis(diagnosis: Diagnosis) -> None:
    from allranks.diagnose import cause
    from allranks.output.terminal import print_findings

    finding = diagnosis.as_finding()
    # As a finding of a run every cause blocks; what proves nothing, or is nothing, must not be counted as one.
    verdict = UNKNOWN if diagnosis.cause == UNPROVEN else finding.verdict
    verdict = NOTE if cause(diagnosis.cause).healthy else verdict
    print_findings([replace(finding, verdict=verdict)])
    if diagnosis.collateral:
        print("  only suffered: " + ", ".join(str(where) for where in diagnosis.collateral))


def lines(paths: list[str]) -> Iterator:
    """The lines of all paths, read as they are needed; every path that is nothing, in one error."""
    from allranks.diagnose import parse

    files = resolve(paths)
    for name in files:
        if name == "-":
            yield from parse(io.TextIOWrapper(sys.stdin.buffer, "utf-8", "replace"), "-")
            continue
        with open(name, encoding="utf-8", errors="replace") as file:
            yield from parse(file, name)


def resolve(paths: list[str]) -> list[str]:
    """Files as they are, folders as the logs in them, anything else as a run known here."""
    found: list[str] = []
    problems: list[Problem] = []
    for path in paths:
        if path == "-" or Path(path).is_file():
            found.append(path)
        elif not path:
            problems.append(Problem("an empty name (an unset variable?)", do="a file, a folder or a run"))
        elif Path(path).is_dir():
            found += logs_below(path, problems)
        else:
            found += logs_of_run(path, problems)
    problems += [problem for name in found if name != "-" and (problem := unreadable(name)) is not None]
    if problems:
        raise BadInput(problems)
    return found


def logs_below(folder: str, problems: list[Problem]) -> list[str]:
    """The logs in a folder and below it; a folder that cannot be looked into is a problem, not an empty one."""
    shut: list[OSError] = []
    found = [
        str(file)
        for place, _, names in os.walk(folder, onerror=shut.append)
        for file in map(Path(place).joinpath, names)
        if file.suffix in LOG_SUFFIXES and file.is_file()
    ]
    problems += [Problem(f"{error.filename}: {error.strerror}", do=READABLE) for error in shut]
    if not found and not shut:
        problems.append(
            Problem(f"{folder}: no log in this folder", do="files named *" + ", *".join(LOG_SUFFIXES))
        )
    return sorted(found)


READABLE = "run this as a user who may read it: a rank whose log is missing may be the one"


def unreadable(name: str) -> Problem | None:
    try:
        with open(name, "rb"):
            return None
    except OSError as error:
        return Problem(f"{name}: {error.strerror}", do=READABLE)


def logs_of_run(name: str, problems: list[Problem]) -> list[str]:
    from allranks.runs.index import directory_here, find

    try:
        run_id = asyncio.run(find(name))
    except BadInput:
        problems.append(
            Problem(f"{name} is no file, no folder and no run known here", do="allranks ps lists the runs")
        )
        return []
    try:
        directory = directory_here(run_id)
    except BadInput as error:
        problems += error.problems
        return []
    return sorted(str(p) for p in Path(directory.root).glob("nodes/*/logs/*.log"))
