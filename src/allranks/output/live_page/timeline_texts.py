"""One line of text for each event that the page's timeline shows, and its tone: `good`, `note`, `warn` or `bad`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from allranks.core.run_states import NOT_SEEN
from allranks.core.untrusted import integer, listing, mapping, number, text

LONGEST = 400

Told = tuple[str, str] | None
Data = Mapping[str, Any]


def of_event(kind: str, data: Data) -> Told:
    """(tone, text), or None for an event without a mark."""
    made = TEXTS.get(kind)
    told = made(data) if made else None
    return (told[0], told[1][:LONGEST]) if told else None


def why_of(data: Data, before: str) -> str:
    why = text(data.get("why"))
    return f"{before}: {why}" if why else before


def at_step(data: Data) -> str:
    step = integer(data.get("step"))
    return "" if step is None else f" at step {step:,}"


def state(data: Data) -> Told:
    name = text(data.get("state")) or ""
    tone = {"succeeded": "good", "failed": "bad", "lost": "bad", "stopped": "warn", NOT_SEEN: "warn"}
    return (tone.get(name, "note"), why_of(data, name)) if name else None


def saved(data: Data) -> Told:
    seconds = number(data.get("seconds"))
    return "good", f"saved{at_step(data)}" + ("" if seconds is None else f" in {seconds:.1f} s")


def checkpoint(data: Data) -> Told:
    whole, path = data.get("whole"), text(data.get("path")) or "checkpoint"
    if whole is True:
        return "good", f"{path} is whole"
    return ("bad", why_of(data, f"{path} is damaged")) if whole is False else None


def raised(data: Data) -> Told:
    return "bad", f"{text(data.get('type')) or 'exception'}: {text(data.get('message')) or ''}"


def rank_gone(data: Data) -> Told:
    code = integer(data.get("code"))
    if code == 0:
        return None
    return "bad", "its process is gone" + ("" if code is None else f", exit code {code}")


def torchrun_ended(data: Data) -> Told:
    code = integer(data.get("code"))
    return None if code in (0, None) else ("bad", why_of(data, f"torchrun ended with exit code {code}"))


def resume(data: Data) -> Told:
    return (
        ("note", f"training continues from step {integer(data.get('step')) or 0:,}")
        if data.get("from")
        else None
    )


def restart(data: Data) -> Told:
    return "warn", why_of(data, "the run is started again" if data.get("again") is True else "no restart")


def replaced(data: Data) -> Told:
    return "warn", why_of(data, f"{text(data.get('by'))} takes the place of {text(data.get('node'))}")


def evidence(data: Data) -> Told:
    return (
        None if data.get("quiet") is True else ("warn", why_of(data, "all ranks were asked for their stacks"))
    )


def pruned(data: Data) -> Told:
    return "note", f"{len(listing(data.get('removed')))} old checkpoints removed"


def finding(data: Data) -> Told:
    tone = {"block": "bad", "unknown": "warn", "warn": "warn"}.get(str(data.get("verdict")))
    return (tone, f"{text(data.get('id'))}: {text(data.get('saw')) or ''}") if tone else None


def diagnosis(data: Data) -> Told:
    if not data.get("cause"):
        return None
    sure = text(data.get("confidence")) or "unknown"
    return (
        "bad",
        f"cause: {text(data.get('cause'))} ({'preliminary' if data.get('provisional') is True else sure})",
    )


def adapter(data: Data) -> Told:
    if data.get("whole") is True:
        return "good", f"the adapter is whole: {text(data.get('path')) or ''}"
    return ("bad", "the adapter is damaged") if data.get("whole") is False else None


def kernel(data: Data) -> Told:
    lines = listing(data.get("lines"))
    return ("warn", f"kernel: {lines[-1]}") if lines else None


def alert(data: Data) -> Told:
    to = text(data.get("to")) or ""
    fine = data.get("ok") is True
    return ("note", f"alert sent to {to}") if fine else ("warn", why_of(data, f"alert to {to} failed"))


def said(tone: str, what: str) -> Callable[[Data], Told]:
    return lambda data: (tone, why_of(data, what))


TEXTS: dict[str, Callable[[Data], Told]] = {
    "state": state,
    "saved": saved,
    "checkpoint": checkpoint,
    "exception": raised,
    "rank-gone": rank_gone,
    "torchrun-ended": torchrun_ended,
    "resume": resume,
    "restart": restart,
    "replaced": replaced,
    "evidence": evidence,
    "pruned": pruned,
    "finding": finding,
    "diagnosis": diagnosis,
    "adapter": adapter,
    "kernel": kernel,
    "alert": alert,
    "lost": said("bad", "the keeper lost the node"),
    "lease-lost": said("bad", "the node heard nothing from the keeper and stops"),
    "notice": said("warn", "the machine will be taken away soon"),
    "stopping": said("note", "its processes are asked to end"),
    "save-skipped": said("warn", "a save was left out"),
    "copied": lambda data: ("good", f"copied to {mapping(data).get('target')}"),
    "copy-failed": said("warn", "a checkpoint could not be copied"),
    "saves-fault": said("warn", "a save could not be checked"),
    "dropped": said("warn", "a full disk refused lines of a journal"),
    "report-failed": said("warn", "the report could not be made"),
}
