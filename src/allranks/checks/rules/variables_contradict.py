"""Two variables contradict each other.

## How it is found
Pairs of variables in each node's environment, of which one makes the other useless: a transport that is switched off
and tuned, different interfaces for NCCL and gloo, GPUDirect set for a network that is off.

## Why it matters
One of them was left over from another machine or another guide, and it is not always the harmless one.

## What to do
Take out the one that is not meant.

## Source
NCCL user guide, "Environment Variables".

Topic: settings
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from allranks.checks.context import Context, Findings

UNKNOWN_BLOCKS = False

OFF = {
    "NCCL_IB_DISABLE": (
        "InfiniBand is off",
        ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TIMEOUT", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_TC"),
    ),
    "NCCL_P2P_DISABLE": ("direct access between GPUs is off", ("NCCL_P2P_LEVEL",)),
    "TORCH_NCCL_BLOCKING_WAIT": ("the watchdog is off with it", ("TORCH_NCCL_ASYNC_ERROR_HANDLING",)),
}


def check(context: Context) -> Findings:
    told: set[str] = set()
    for view in context.answered:
        environment = context.environment(view)
        for text in (*switched_off(environment, context), *interfaces(environment)):
            if text not in told:
                told.add(text)
                yield context.note(
                    view if len(context.views) > 1 and own(view) else None,
                    key="env",
                    saw=text,
                    expected="settings that agree",
                    why="one of the two is left over from another machine or guide.",
                    fix="take out the one that is not meant",
                )


def own(view) -> bool:
    return bool(view.node.env)


def switched_off(environment: Mapping[str, str], context: Context) -> Iterator[str]:
    if not context.uses_gpu:
        return
    for switch, (means, tuned) in OFF.items():
        if environment.get(switch, "0") not in ("0", ""):
            for name in tuned:
                if environment.get(name, "0") not in ("0", ""):
                    yield f"{switch}={environment[switch]} and {name}={environment[name]}: {means}"


def interfaces(environment: Mapping[str, str]) -> Iterator[str]:
    nccl, gloo = environment.get("NCCL_SOCKET_IFNAME", ""), environment.get("GLOO_SOCKET_IFNAME", "")
    if nccl and gloo and not nccl.startswith("^") and "," not in nccl and nccl.lstrip("=") != gloo:
        yield f"NCCL_SOCKET_IFNAME={nccl} and GLOO_SOCKET_IFNAME={gloo}: two networks for one run"
