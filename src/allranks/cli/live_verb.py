"""`diagnose --live`: looks at a running job that allranks did not start, and names the rank or node that its ranks
wait for."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from allranks.cli.common import print_json
from allranks.cli.diagnose_verb import log_line, place, print_rows
from allranks.core import BadInput, Diagnosis, Problem
from allranks.core.causes import UNPROVEN
from allranks.core.text import plural, spans, spelt_out
from allranks.monitor.job_judge import Verdict
from allranks.monitor.job_look import Job, NodeLook
from allranks.transport import Nodes

HERE = "localhost"


def live_command(options: argparse.Namespace) -> int:
    """Exit code 1: a rank or node is named; 0: every job advances; 3: nothing is proved, or no rank was found."""
    from allranks.runs.job_witness import Wanted, witness

    looks, told = asyncio.run(
        witness(
            targets(options),
            Wanted(options.seconds, options.pid, options.slurm_job or "", not options.no_stacks),
        )
    )
    found, verdicts = [job for job, _ in told], [verdict for _, verdict in told]
    code = exit_code(verdicts)
    if options.json:
        print_json(as_json(found, verdicts, looks))
        return code
    if not found:
        print("\n".join(nothing_found(looks, options)), file=sys.stderr)
        return code
    for number, (job, verdict) in enumerate(zip(found, verdicts, strict=True)):
        if number:
            print()
        print_verdict(job, verdict, len(found) > 1)
    return code


def targets(options: argparse.Namespace) -> Nodes:
    """This machine, unless nodes or a job of SLURM are named. Raises BadInput."""
    from allranks.runs.node_targets import Access, open_targets
    from allranks.transport import reached

    if options.slurm_job and not options.paths:
        return nodes_of_slurm(options.slurm_job)
    if options.pid is not None and options.paths:
        raise BadInput(
            Problem(
                "--pid beside nodes.",
                "a process id means a process of this machine.",
                "use only --live NODES",
            )
        )
    if not options.paths:
        from allranks.core import Node
        from allranks.spec import launchers

        return reached([Node(name=HERE, address="127.0.0.1", rank=0)], launchers.LOCAL)
    access = Access(options.user, options.transport, options.accept_new_hosts)
    return open_targets(",".join(options.paths), access)


def nodes_of_slurm(job: str) -> Nodes:
    """The nodes that SLURM assigned to a job, reached by `srun --overlap`."""
    from allranks.launch.launchers.slurm.job_nodes import nodes_of_job

    return asyncio.run(nodes_of_job(job))


def exit_code(verdicts: Sequence[Verdict]) -> int:
    if any(verdict.diagnosis.cause != UNPROVEN and not verdict.advances for verdict in verdicts):
        return 1
    return 0 if verdicts and all(verdict.advances for verdict in verdicts) else 3


def as_json(found: Sequence[Job], verdicts: Sequence[Verdict], looks: Sequence[NodeLook]) -> dict[str, Any]:
    """The first diagnosis, with the keys that `diagnose` always has, and all of them as `jobs`."""
    each = [
        {
            **verdict.diagnosis.as_json(),
            "advances": verdict.advances,
            "world_size": job.world_size,
            "not_seen": job.missing,
            "silence_seconds": verdict.silence,
            "notes": list(verdict.notes),
            "ranks": [
                {
                    "rank": number,
                    "node": one.node,
                    "pid": one.pid,
                    "state": one.state,
                    "moved": verdict.moved.get(number),
                    "stack": [list(frame) for frame in one.frames],
                    "read_by": one.by,
                    "why": one.why,
                }
                for number, one in sorted(job.ranks.items())
            ],
        }
        for job, verdict in zip(found, verdicts, strict=True)
    ]
    empty = Diagnosis(
        cause=UNPROVEN, confidence=UNPROVEN, why="no rank of a job of yours was found"
    ).as_json()
    shown = [
        {
            "node": look.name,
            "ranks": len(look.ranks),
            "others": look.others,
            "error": look.error or None,
            "kernel": list(look.kernel),
            "gpus": [dict(row) for row in look.gpus],
        }
        for look in looks
    ]
    worst = next((one for one in each if not one["advances"] and one["cause"] != UNPROVEN), None)
    worst = worst or next((one for one in each if not one["advances"]), each[0] if each else empty)
    diagnosis = {key: worst[key] for key in empty}
    return {**diagnosis, "jobs": each, "nodes": shown}


def nothing_found(looks: Sequence[NodeLook], options: argparse.Namespace) -> list[str]:
    lines = [spelt_out(f"{look.name}: {look.error}") for look in looks if look.error]
    fine = [look for look in looks if not look.error]
    others = sum(look.others for look in fine)
    if fine:
        where = "this machine" if [look.name for look in fine] == [HERE] else plural(len(fine), "node")
        wanted = " of that job" if options.pid is not None or options.slurm_job else ""
        lines.append(
            f"no rank{wanted} of yours on {where}: no process of yours has RANK and WORLD_SIZE (or what mpirun and"
            " srun set) in its environment."
        )
    if others:
        told = plural(others, "Python process", "Python processes")
        lines.append(f"{told} of other users: counted and not read. Their owner may look.")
    return lines


def waited_for(verdict: Verdict) -> str:
    where = verdict.diagnosis.where
    on = f" on {where.node}" if where.node is not None else ""
    if where.rank is None:
        return f"The ranks wait for node {where.node}" if where.node is not None else "The ranks wait"
    return f"{'The others wait' if verdict.diagnosis.collateral else 'It waits'} for rank {where.rank}{on}"


def print_verdict(job: Job, verdict: Verdict, several: bool) -> None:
    from allranks.diagnose import title

    diagnosis = verdict.diagnosis
    nodes = {one.node for one in job.ranks.values()}
    about = f"{len(job.ranks)} of {plural(job.world_size, 'rank')} on {plural(len(nodes), 'node')}"
    if several:
        port = next(iter(job.ranks.values())).env.get("MASTER_PORT", "")
        about = f"job with port {port or 'unknown'}: {about}"
    print(f"{about}.")
    if verdict.advances:
        print("The job advances: every rank moved between the looks.")
    elif diagnosis.cause == UNPROVEN:
        print("No rank can be named (unproven)")
    else:
        print(f"{waited_for(verdict)} ({diagnosis.confidence})")
    named = diagnosis.cause != UNPROVEN and not verdict.advances
    where = ", ".join(part for part in (place(diagnosis.where), log_line(diagnosis.where)) if part)
    rows = [("cause", f"{diagnosis.cause}: {title(diagnosis.cause)}" if named else ""), ("where", where)]
    rows += [("seen" if n == 0 else "", text) for n, text in enumerate(diagnosis.evidence)]
    rows += [("why", diagnosis.why), ("fix", diagnosis.fix)]
    if diagnosis.collateral and diagnosis.cause != UNPROVEN:
        waiting = spans(w.rank for w in diagnosis.collateral if w.rank is not None)
        rows.append(("waiting", f"ranks {waiting}"))
    rows += [("note" if n == 0 else "", text) for n, text in enumerate(verdict.notes)]
    if named:
        rows.append(("next", f"allranks explain {diagnosis.cause}"))
    print_rows([(name, spelt_out(text)) for name, text in rows])
