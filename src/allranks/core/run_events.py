"""The events that the keeper and the controller tell."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from allranks.core.findings import Diagnosis, Finding
from allranks.core.payloads import KINDS, Payload


class Evidence(Payload, kind="evidence", by="keeper"):
    """At a stall, before anything is stopped, the keeper asks all nodes and ranks what they do."""

    why: str = ""
    quiet: bool = False  # no stall has been reported yet
    stands: bool = False  # the answers to a quiet question count for the stall: the ranks are not asked again


class Checkpoint(Payload, kind="checkpoint", by="keeper"):
    """A save was looked at."""

    path: str = ""
    whole: Optional[bool] = None  # null if it could not be looked at
    step: Optional[int] = None
    why: str = ""
    title: str = ""  # the kind of checkpoint, if it is not an adapter of this run
    text: str = ""  # what is there, in a few words


class PassedOver(Payload):
    path: str = ""
    why: str = ""


class Resume(Payload, kind="resume", by="keeper"):
    """Where the training begins."""

    from_: Optional[str] = None  # a checkpoint; null: from the start
    step: Optional[int] = None
    passed_over: Sequence[PassedOver] = ()


class Pruned(Payload, kind="pruned", by="keeper"):
    """Old checkpoints were removed."""

    removed: Sequence[str] = ()
    freed_bytes: Optional[int] = None
    why: str = ""  # why nothing could be removed


class Copied(Payload, kind="copied", by="keeper"):
    """A checkpoint was copied."""

    path: str = ""
    target: str = ""
    files: Optional[int] = None
    copied_bytes: Optional[int] = None
    kept_bytes: Optional[int] = None
    seconds: Optional[float] = None
    removed: Any = None


class CopyFailed(Payload, kind="copy-failed", by="keeper"):
    """It could not be copied."""

    path: str = ""
    target: str = ""
    why: str = ""


class Adapter(Payload, kind="adapter", by="keeper"):
    """The adapter at the end of the run."""

    path: Optional[str] = None
    tensors: Optional[int] = None
    parameters: Optional[int] = None
    step: Optional[int] = None
    whole: Optional[bool] = None
    changed: Any = None  # if it was loaded onto its base
    max_difference: Optional[float] = None


class ReportFailed(Payload, kind="report-failed", by="keeper"):
    """The report could not be drawn."""

    error: str = ""


class SavesFault(Payload, kind="saves-fault", by="keeper"):
    """A save could not be looked at."""

    path: str = ""
    error: str = ""


class Joined(Payload, kind="joined", by="keeper"):
    """A supervisor's connection."""


class Lost(Payload, kind="lost", by="keeper"):
    """The connection is gone."""

    why: str = ""


class Preparing(Payload, kind="preparing", by="controller"):
    """The current preparation of a node; shown on the terminal only, not written to a journal."""

    what: str = ""


class Silent(Payload, kind="silent", by="controller"):
    """The nodes that have not answered the check yet; shown on the terminal only, not written to a journal."""

    nodes: Sequence[str] = ()  # none: all have answered, or are given up
    seconds: Optional[float] = None  # since they were asked


class Phase(Payload, kind="phase", by="keeper"):
    """The run's phase."""

    phase: str = ""
    why: str = ""


class State(Payload, kind="state", by="keeper"):
    """The run's state."""

    state: str = ""
    why: str = ""


class Replaced(Payload, kind="replaced", by="keeper"):
    """A node is left out, and a spare takes its place."""

    node: str = ""
    by: str = ""
    ranks: Sequence[int] = ()
    why: str = ""


class Restart(Payload, kind="restart", by="keeper"):
    """Whether a failed attempt is followed by another (`launch.restarts`)."""

    again: bool = False
    why: str = ""


class Alert(Payload, kind="alert", by="keeper"):
    """How a message of `alerts` went."""

    to: str = ""
    ok: Optional[bool] = None
    findings: Any = None
    why: str = ""


KINDS.update(finding=Finding, diagnosis=Diagnosis)
