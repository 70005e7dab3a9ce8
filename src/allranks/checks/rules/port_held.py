"""A port that the run will listen on is taken.

## How it is found
allranks listens for a moment on the rendezvous port (`network.port`) of the head, as torch's store does, and on
the keeper's port if one is set. If a port is taken, it looks for the process that holds it.

## Why it matters
torchrun's store cannot listen, and the other nodes join whatever answers there: with a leftover of an
earlier run they wait until it times out.

## What to do
If an earlier run of allranks holds it, `allranks stop` stops that run. If a dead run of allranks left a process at
the port, the next `allranks run` ends it by itself (`port-freed`). allranks never ends any other process: choose
another `network.port`.

## Source
torch 2.13 `TCPStore` listens on all addresses with SO_REUSEADDR; a port in TIME_WAIT alone is free for it.

Topic: network
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.checks.context import Context, Findings, View
from allranks.core import Finding
from allranks.core.quantities import in_seconds
from allranks.core.untrusted import listing, mapping, number

NEEDS = ("network.ports",)


def check(context: Context) -> Findings:
    if context.head not in context.answered:
        return
    for port, state in context.head.map("network.ports").items():
        state = mapping(state)
        if state.get("free") is not False:
            continue
        holders = [mapping(holder) for holder in listing(state.get("held_by"))]
        yield held(context, context.head, port, state, holders[0] if holders else {})


def held(
    context: Context, view: View, port: str, state: Mapping[str, Any], holder: Mapping[str, Any]
) -> Finding:
    run = holder.get("run")
    if run:
        fix = f"allranks stop {run}"
    elif port == str(context.run.network.port):
        free = state.get("proposal")
        another = (
            f"{{port: {free}}}, which is free" if isinstance(free, int) else "{port: …} with another port"
        )
        fix = f"network: {another}, or ask its owner"
    else:
        fix = "network: {keeper_port: 0}, which takes any free one"
    return context.block(
        view,
        key="network.port",
        saw=f"port {port} of {view.name} "
        f"{holder_text(holder) or 'cannot be listened on: ' + str(state.get('reason'))}",
        expected=f"port {port} free on the head",
        why="the new rendezvous would wait until it times out.",
        fix=fix,
    )


def holder_text(holder: Mapping[str, Any]) -> str:
    """`is held by pid 41877 (python, run 0902-a, started 14 h ago)`; empty if nobody is seen."""
    if not holder:
        return ""
    about = [str(holder["name"])] if holder.get("name") else []
    about += [f"run {holder['run']}"] if holder.get("run") else [f"uid {holder.get('uid')}"]
    age = number(holder.get("age_seconds"))
    about += [f"started {in_seconds(age)} ago"] if age is not None else []
    who = f"pid {holder['pid']}" if holder.get("pid") else "another user's process"
    return f"is held by {who} ({', '.join(about)})"
