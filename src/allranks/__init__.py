"""allranks: start a training run on many machines and keep it alive.

The folders are the life of a run, in order. `spec` reads what the user wrote. `transport` reaches the nodes,
`node` runs there, and `checks` judges what it found. `plan` says what will run; `prepare` and `launch` start it.
`worker` reports from every rank, `monitor` and `diagnose` judge the reports, `checkpoints` proves the result.
`runs` ties the phases together; `cli` and `output` are what a person sees, `api` what
a program calls: `allranks.run(…)`, `plan`, `check`, `diagnose` (docs/python.md).

Every rank imports this file, so nothing is imported here; `api` is loaded when one of its names is used.
"""

__version__ = "0.1.0"

ROOMS = ("diagnose", "plan")
"""Names of `api` that are rooms, too: as rooms they can be called (`core/callable_room.py`)."""

API = (
    "AllranksError", "BadInput", "Blocked", "Check", "CouldNotTell", "Diagnosis", "Event", "Finding", "Plan", "Run",
    "RunState", "StoppedBefore", "check", "find_run", "list_runs", "run",
)  # fmt: skip


def __getattr__(name):
    from importlib import import_module

    if name in ROOMS:
        return import_module("allranks." + name)
    if name not in API:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("allranks.api"), name)


def __dir__():
    return sorted({*globals(), *API, *ROOMS})
