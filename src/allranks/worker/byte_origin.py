"""Whether the bytes that this process reads come from storage, or from the memory of the machine (the page cache).

The kernel counts in /proc/self/io (proc(5), `read_bytes`) what a process made storage fetch, NFS included. Some file
systems, FUSE among them, count nothing there: their bytes look like bytes from memory on every node.
"""

from __future__ import annotations

from typing import Optional

STORAGE, MEMORY = "storage", "memory"


class ByteOrigin:
    """Counts from its own beginning."""

    def __init__(self, path: str = "/proc/self/io"):
        self.path = path
        self.begun = fetched(path)

    def source(self, done: int) -> str:
        """Where most of `done` bytes came from; empty if nothing was read or the kernel does not say."""
        now = fetched(self.path)
        if now is None or self.begun is None or not done:
            return ""
        return STORAGE if 2 * (now - self.begun) >= done else MEMORY


def fetched(path: str) -> Optional[int]:
    """`read_bytes`, None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            for line in file:
                if line.startswith(b"read_bytes:"):
                    return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return None
