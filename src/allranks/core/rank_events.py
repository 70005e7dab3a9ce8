"""The events that a rank tells."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

from allranks.core.payloads import Number, Payload


class Gpu(Payload, whole=True):
    name: Optional[str] = None
    uuid: Optional[str] = None
    bus_id: Optional[str] = None


class Start(Payload, kind="start", by="rank"):
    """The rank's process, as far as it is known. Sent again, for the same process, right before `settings` if a GPU is
    in use by then."""

    pid: Optional[int] = None
    start_time: Optional[int] = None  # in clock ticks since the boot
    boot_id: Optional[str] = None
    pid_namespace: Optional[str] = None
    host: Optional[str] = None
    local_rank: Optional[int] = None
    world_size: Optional[int] = None
    python: Optional[str] = None
    torch: Optional[str] = None
    gpu: Optional[Gpu] = None


class Settings(Payload, kind="settings", by="rank"):
    """The settings that took effect; null means unknown. Sent again with `data_digest` after the first step if a
    Trainer or DeepSpeed trains."""

    framework: Optional[str] = None  # `llamafactory`, `transformers`, `deepspeed`, `accelerate` or `torch`
    torch: Optional[str] = None
    trainable_parameters: Optional[int] = None
    total_parameters: Optional[int] = None  # with the adapter
    zero_stage: Optional[int] = None
    reduce_bucket_size: Optional[float] = None
    prefetch_bucket_size: Optional[float] = None
    micro_batch: Optional[int] = None
    accumulation: Optional[int] = None
    world_size: Optional[int] = None
    total_steps: Optional[int] = None
    samples: Optional[int] = None
    epochs: Optional[float] = None
    precision: Optional[str] = None
    trainable_digest: Optional[str] = None  # of the trainable parameters before the first step
    data_digest: Optional[str] = None  # of the newest batch before the first step, unless ranks may share it
    notes: Sequence[str] = ()  # what allranks did for the training


class Step(NamedTuple):
    """`own_seconds`: before the step's first collective is entered, by the host's clock; with a GPU of its own, and of
    about one step a beat."""

    step: Optional[int]
    loss: Optional[Number] = None
    seconds: Optional[float] = None
    data_seconds: Optional[float] = None
    tokens: Optional[float] = None
    learning_rate: Optional[Number] = None
    own_seconds: Optional[float] = None
    gradient_norm: Optional[Number] = None


class Operator(Payload):
    name: str = "?"
    waits: bool = False  # for another process that compiles it


class Doing(Payload):
    what: str = ""
    done: Optional[Number] = None
    total: Optional[Number] = None
    source: str = ""  # of the base model's bytes: `storage`, `memory` (the page cache), `cache` (the node's)
    retries: int = 0  # reads of it that failed and were tried again
    error: str = ""  # of the last of them


BASE_BYTES = "bytes of the base model"
"""`Doing.what` while a rank reads its own part: `done` and `total` count bytes."""


CACHE_NOTE = "base cache: "
"""Begins a note of the settings that says why a node's cache of the base was not used or not written."""


class Carried(NamedTuple):
    step: int
    bytes: Optional[int]


class Beat(Payload, kind="beat", by="rank"):
    """The heartbeat, once a second and at each change of phase."""

    phase: Optional[str] = None
    step: Optional[int] = None
    total_steps: Optional[int] = None
    steps: Sequence[Step] = ()  # since the last beat
    steps_dropped: int = 0  # of more than 500 since the last beat
    rss_bytes: Optional[int] = None
    gpu_bytes: Optional[int] = None
    gpu_peak_bytes: Optional[int] = None
    operator: Optional[Operator] = None  # while `compiling` one
    shard: Optional[int] = None  # while `loading`: how many of the model's files are read
    shards: Optional[int] = None  # of so many
    progress: Optional[Doing] = None  # the newest progress bar, outside the training
    carried: Optional[Carried] = None  # received by the node up to that step's end; local rank 0
    trouble: Sequence[str] = ()  # what failed in allranks' own hooks
    refused: str = ""  # why the rank's file took no line at the last try: this one came over the socket


class Saving(Payload, kind="saving", by="rank"):
    """A save begins."""

    step: Optional[int] = None
    path: Optional[str] = None


class Saved(Saving, kind="saved", by="rank"):
    """A save has ended."""

    seconds: Optional[float] = None
    inode: Optional[int] = None  # of the file, which the script may rename


class SaveSkipped(Payload, kind="save-skipped", by="rank"):
    """A save is left out: there is no room for it, or PEFT could not read the adapter (`unread`)."""

    step: Optional[int] = None
    planned_bytes: Optional[int] = None
    free_bytes: Optional[int] = None
    unread: bool = False
    why: str = ""  # if it was tried


class CanSave(Payload, kind="can-save", by="rank"):
    """From now on the rank reacts to a notice."""

    step: Optional[int] = None


class NoticeHeard(Payload, kind="notice-heard", by="rank"):
    """The notice was heard: the ranks save after this step."""

    step: Optional[int] = None


class Frame(NamedTuple):
    file: str
    line: Optional[int] = None
    function: str = "?"


class Cause(Payload):
    type: str = ""
    message: str = ""


class Raised(Payload, kind="exception", by="rank"):
    """An exception that was not caught."""

    type: str = ""
    message: str = ""
    frames: Optional[Sequence[Frame]] = None  # outermost first
    communication: Optional[bool] = None  # whether a collective or the network failed
    causes: Sequence[Cause] = ()  # nearest first
    folder: str = ""  # the rank's own, if it found no file of a relative path

    @property
    def text(self) -> str:
        return f"{self.type}: {self.message}"

    @property
    def innermost(self) -> Sequence[Frame]:
        """The last of the frames; a deep recursion has thousands."""
        return (self.frames or ())[-64:]


class End(Payload, kind="end", by="rank"):
    """Python ends by itself."""

    code: Optional[int] = None


class Stack(Payload, kind="stack", by="rank or supervisor"):
    """An answer to `evidence`: the main thread's stack."""

    frames: Optional[Sequence[Frame]] = None  # outermost first; null if they could not be read
    by: Optional[str] = None  # `inside`, `py-spy` or `reading its memory`
    why: str = ""


class Pending(Payload):
    sequence: Optional[int] = None
    operation: str = ""
    sizes: Any = None
    state: str = ""


class Collective(Pending):
    group: str = "0"
    timeout_seconds: Optional[float] = None
    completed: Optional[int] = None
    pending: Optional[Pending] = None

    @property
    def is_followed(self) -> bool:
        """Whether the recorder follows states."""
        return self.has("completed")


class Flight(Collective, kind="flight", by="rank", whole=True):
    """An answer to `evidence`: the rank's newest collective, from torch's flight recorder. If the recorder follows
    states (NCCL's does) `completed` is the number completed last, and `pending` the oldest one that is not."""

    groups: Optional[Sequence[Collective]] = None  # the same of each process group
    p2p: bool = False  # it also holds sends between two ranks, which are left out
