"""`sweep`: one run for each combination of values. The runs are the tasks of one job array."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from allranks.core import Event
from allranks.plan import trainer
from allranks.runs import allocation, launch_record
from allranks.runs.run_id import new_run_id
from allranks.spec import Run, trainer_yaml


@dataclass(frozen=True)
class One:
    """One combination: its run, the values that it changes, and the `--set` arguments that change the run file in the
    same way."""

    run: Run
    values: Mapping[str, Any]
    sets: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(f"{name}={trainer.scalar(value)}" for name, value in self.values.items())


def combinations(run: Run) -> list[One]:
    """All combinations in the order of the run file. The last argument varies fastest, as in the rendered script's
    array."""
    names = list(run.sweep)
    chosen = product(*(run.sweep[name] for name in names))
    return [made(run, dict(zip(names, values, strict=True)), index) for index, values in enumerate(chosen)]


def made(run: Run, values: dict[str, Any], index: int) -> One:
    """The run of one combination. For a command, its arguments come as `--name=value` after the command's own."""
    name = f"{run.name}-{index}"
    sets = [f"name={name}", "sweep={}"]
    if run.train.kind == "llamafactory":
        train = replace(run.train, arguments={**run.train.arguments, **values})
        sets += [f"train.llamafactory.{key}={trainer_yaml.text(value)}" for key, value in values.items()]
    else:
        command = (*run.train.command, *trainer.words(values))
        train = replace(run.train, command=command)
        sets.append(f"train.command={json.dumps(list(command))}")
    return One(replace(run, name=name, train=train, sweep={}), values, tuple(sets))


async def all_of(
    run: Run,
    tell: Callable[[One, str, Event], None],
    again: Callable[..., list[str]],
    work: Callable[[allocation.Acquired, One], Awaitable[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Waits for each combination's nodes and calls `work`. Returns the states in the order of the array.

    An error of one combination does not affect the others: its state is None, with `why`. `again(*sets)` is the
    command that starts the run again, `tell` gets the events of each task's wait.
    """
    ones = combinations(run)
    base = new_run_id(run.name)
    queue = allocation.queue_of(run)
    array = await queue.submit(run, base, [again(*single.sets) for single in ones], tasks=len(ones))

    async def one(index: int) -> dict[str, Any]:
        single, run_id = ones[index], f"{base}-{index}"
        try:
            acquired = await allocation.one(
                single.run, run_id, f"{array}_{index}", lambda event: tell(single, run_id, event)
            )
            return await work(acquired, single)
        except Exception as error:
            return {**launch_record.unknown({"id": run_id, "name": single.run.name}), "why": str(error)}

    return list(await asyncio.gather(*(one(index) for index in range(len(ones)))))
