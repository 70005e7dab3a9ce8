"""Plan → commands (pure) → what each node's supervisor is asked to start. Knows nothing of failures."""

from allranks.launch.jobs import Job, Places, make

__all__ = ["Job", "Places", "make"]
