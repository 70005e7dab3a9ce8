"""Append-only JSON lines: written whole or not at all, read while they are written."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Tuple

from allranks.core import Event, event_from_json, told
from allranks.core.line_file import LineFile
from allranks.core.node_events import Dropped
from allranks.core.payloads import Refused
from allranks.node.files import open_regular, value_of

LINE_BYTES = 1 << 20
"""A longer line is not an event: it is skipped, since a reader that waits for its end would wait forever."""

READ_BYTES = 4 << 20
"""The most that one `read_events` takes in, so that a large backlog does not stop the supervisor's loop."""


class Lines:
    """Appends JSON lines to one file, of which this object is the only writer. Never raises OSError.

    After a line that could not be stored (a full disk) `dropped` counts what was lost, and the next line that fits is
    preceded by one that says so.
    """

    def __init__(self, path: str):
        self.path = path
        self.dropped = 0
        self.error = ""
        self._file = LineFile(path)

    def append(self, value: Dict[str, Any]) -> bool:
        """False if the line could not be stored whole."""
        lines = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        if self.dropped:
            lines = json.dumps(self._note(), separators=(",", ":")).encode() + b"\n" + lines
        try:
            self._file.append(lines)
        except OSError as error:
            self.dropped += 1
            self.error = f"{error.strerror} (errno {error.errno})"
            return False
        self.dropped = 0
        return True

    def close(self) -> None:
        self._file.close()

    def _note(self) -> Dict[str, Any]:
        return {"dropped": self.dropped, "why": self.error}


class Journal(Lines):
    """Appends events. An event of kind `dropped` reports the events that could not be written."""

    def __init__(self, path: str, node: Optional[str] = None):
        super().__init__(path)
        self.node = node

    def append(self, value: "Event | Dict[str, Any]") -> bool:
        event = value.as_json() if isinstance(value, Event) else value
        self._at = float(event.get("at") or 0.0)
        return super().append(event)

    def _note(self) -> Dict[str, Any]:
        return told(Dropped(events=self.dropped, why=self.error), self.node, at=self._at).as_json()


class Tail:
    """Reads the lines that were appended to a file since the last `read`; an unfinished line waits for its end.

    `offset` is the byte after the last whole line read, `garbage` counts lines that were not a JSON object, `refused`
    says why the first event was refused.
    """

    def __init__(self, path: str, offset: int = 0):
        self.path, self.offset, self.garbage, self.refused = path, offset, 0, ""

    def read(self) -> List[Dict[str, Any]]:
        values = []
        for line in self._lines():
            try:
                value = value_of(line)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                values.append(value)
            elif line.strip():
                self.garbage += 1
        return values

    def _lines(self) -> List[bytes]:
        try:
            descriptor = open_regular(self.path)
        except OSError:
            return []
        try:
            if os.fstat(descriptor).st_size < self.offset:
                self.offset = 0  # the file was made again
            block = os.pread(descriptor, READ_BYTES, self.offset)
        except OSError:
            return []
        finally:
            os.close(descriptor)
        end = block.rfind(b"\n") + 1
        if not end and len(block) > LINE_BYTES:
            self.offset += len(block)
            self.garbage += 1
            return []
        self.offset += end
        return block[:end].split(b"\n")[:-1]


def read_events(path: str, offset: int = 0) -> Tuple[List[Event], int]:
    """The whole events that are in `path` from byte `offset` on, and the offset to continue from.

    Garbage is skipped; to know how much there was, keep a `Tail`. At most `READ_BYTES` at once: a caller
    that wants the file's end calls until the offset stays.
    """
    tail = Tail(path, offset)
    return events_of(tail), tail.offset


def events_of(tail: Tail) -> List[Event]:
    """What `tail` reads now, as events; what is refused counts as garbage."""
    events = []
    for value in tail.read():
        try:
            events.append(event_from_json(value))
        except Refused as error:
            tail.garbage += 1
            tail.refused = tail.refused or str(error)
    return events
