"""Somebody else runs a training on a node.

## How it is found
The launchers of distributed training (torchrun, deepspeed, accelerate, llamafactory-cli, horovodrun) that run on
the node and belong to no run of allranks, by their command lines: pid, user and age.

## Why it matters
It shares the node's processors, memory, GPUs and network with your run. A forgotten training keeps them busy for
nothing, and its ranks may still wait at the rendezvous port that this run will use.

## What to do
Ask its user. It is reported and never touched: allranks signals only what its own run directories prove to be
its own. GPU memory that strangers hold is `gpu-busy`, a port that they hold is `port-held`.

## Source
proc(5), `/proc/PID/cmdline`; the module names are those of torch 2.13, DeepSpeed 0.19, accelerate 1.11 and
LLaMA-Factory 0.9.5.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.phrases import listed
from allranks.core.quantities import in_seconds
from allranks.core.text import plural
from allranks.core.untrusted import number

NEEDS = ("leftovers.others",)
UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    for view in context.machines:
        found = view.maps("leftovers.others")
        if not found:
            continue
        told = [
            f"pid {one.get('pid')} ({one.get('launcher')}, uid {one.get('uid')}, "
            f"started {in_seconds(number(one.get('age_seconds')) or 0.0)} ago)"
            for one in found
        ]
        yield context.note(
            view,
            saw=f"{plural(len(found), 'training', 'trainings')} of others on {view.name}: {listed(told)}",
            expected="nobody else trains on the node",
            why="they share its processors, memory and network with your run. allranks leaves them alone.",
            fix=f"ask the user of pid {found[0].get('pid')}",
        )
