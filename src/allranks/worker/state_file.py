"""Writes what the ranks hold in parts into one file, with as few bytes between the ranks as there can be.

The file's layout follows from names, types and shapes, which all ranks know. Rank 0 makes it; a rank of its machine
that sees it writes its own part in place, and moves no byte to another rank. A rank of another machine sends its
part to rank 0: there need be no shared storage, and over NFS two machines that write into one page can lose a part.
"""

from __future__ import annotations

import errno
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

from allranks.core import procfs
from allranks.worker import optimizer_state
from allranks.worker.collective import agree, of_all
from allranks.worker.optimizer_state import Flat, Part
from allranks.worker.tensor_file import Entry, header_of, write_at

PIECE_BYTES = 32 << 20
"""Sent at once by a rank of another machine. One larger part is a piece of its own."""


def write(held: Tuple[Flat, ...], path: Optional[str]) -> None:
    """Collective; `path` on rank 0 alone. Raises OSError on rank 0 if any rank could not write."""
    head, offsets, size = header_of(entries(held))
    file, trouble = _begin(path, head, size)
    told = _told(path, trouble)
    if told["trouble"]:
        if trouble is not None:
            raise trouble
        return
    if file is None and _sees(told):
        file, trouble = _open(told["path"])
    direct = _all_say(file is not None)
    try:
        for flat in held:
            for kind in flat.kinds():
                for piece in pieces(flat, kind):
                    trouble = _write_piece(flat, kind, piece, offsets, file, direct, trouble) or trouble
    finally:
        if file is not None:
            os.close(file)
    theirs = max(of_all(0 if trouble is None else min(trouble.errno or errno.EIO, 255)))
    if theirs and optimizer_state.rank() == 0:
        raise trouble or OSError(
            theirs, "another rank of this machine could not write its part: %s" % os.strerror(theirs), path
        )


def entries(held: Tuple[Flat, ...]) -> List[Entry]:
    return [
        ("%s/%s" % (kind, part.name), flat.tensor(kind).dtype, part.shape)
        for flat in held
        for kind in flat.kinds()
        for part in flat.parts
    ]


# ---- the writing ranks ----


def _begin(path: Optional[str], head: bytes, size: int) -> Tuple[Optional[int], Optional[OSError]]:
    if path is None:
        return None, None
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        write_at(file, memoryview(head), 0)
        os.ftruncate(file, len(head) + size)
        return file, None
    except OSError as error:
        return None, error


def _told(path: Optional[str], trouble: Optional[OSError]) -> Dict[str, Any]:
    """Rank 0's message to all ranks: the path of the file, and its identity."""

    def say() -> Dict[str, Any]:
        if trouble is not None or path is None:
            return {"trouble": str(trouble)}
        return {"trouble": "", "path": os.path.abspath(path), "is": _identity(path)}

    return dict(agree(say))


def _identity(path: str) -> List[Any]:
    """The machine's boot id and the file's inode, size and time: a file on another disk does not match in all of
    them."""
    info = os.stat(path)
    return [procfs.boot_id(), info.st_ino, info.st_size, info.st_mtime_ns]


def _sees(told: Dict[str, Any]) -> bool:
    try:
        return _identity(told["path"]) == told["is"]
    except OSError:
        return False


def _open(path: str) -> Tuple[Optional[int], Optional[OSError]]:
    """A rank that may not write there (another user) sends its part."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CLOEXEC), None
    except OSError:
        return None, None


def _all_say(mine: bool) -> List[bool]:
    """What each rank says, in their order. No rank writes before all have looked."""
    return [bool(answer) for answer in of_all(int(mine))]


# ---- what is written ----


def pieces(flat: Flat, kind: str, piece_bytes: int = PIECE_BYTES) -> Iterator[List[Part]]:
    most, size = piece_bytes // flat.tensor(kind).element_size(), 0
    piece: List[Part] = []
    for part in flat.parts:
        if piece and size + part.numel > most:
            yield piece
            piece, size = [], 0
        piece.append(part)
        size += part.numel
    if piece:
        yield piece


def _write_piece(
    flat: Flat,
    kind: str,
    piece: List[Part],
    offsets: Dict[str, int],
    file: Optional[int],
    direct: List[bool],
    trouble: Optional[OSError],
) -> Optional[OSError]:
    """This rank's part of a piece; on rank 0 also the parts of those who cannot write. A rank whose disk fails still
    does the rest: others may wait for its message."""
    import torch

    tensor, me = flat.tensor(kind).view(-1), optimizer_state.rank()
    if file is None:
        mine = _joined(flat, tensor, piece, me)
        if mine is not None:
            torch.distributed.send(mine.to(optimizer_state.device()), dst=0)
        return None
    values = [(me, _joined(flat, tensor, piece, me))]
    if me == 0:
        values += [(r, _received(flat, tensor, piece, r)) for r, writes in enumerate(direct) if not writes]
    if trouble is not None:
        return trouble
    try:
        for rank, joined in values:
            if joined is not None:
                _put(file, flat, kind, piece, rank, joined, offsets)
    except OSError as error:
        return error
    return None


def _shares(flat: Flat, piece: List[Part], rank: int) -> Iterator[Tuple[Part, int, slice]]:
    """(part, the first of its values that the rank holds, where they are in the rank's own flat tensor)."""
    each = flat.master.numel()
    for part in piece:
        if flat.cut:
            first, end = rank * part.length, min((rank + 1) * part.length, part.numel)
            if first < end:
                yield part, first, slice(part.offset, part.offset + end - first)
            continue
        held = optimizer_state.overlap(part.offset, part.offset + part.numel, rank * each, each)
        if held is not None:
            yield part, held[0].start, held[1]


def _joined(flat: Flat, tensor: Any, piece: List[Part], rank: int) -> Optional[Any]:
    import torch

    mine = [tensor[where].detach() for _, _, where in _shares(flat, piece, rank)]
    return torch.cat(mine) if mine else None


def _received(flat: Flat, tensor: Any, piece: List[Part], rank: int) -> Optional[Any]:
    import torch

    count = sum(where.stop - where.start for _, _, where in _shares(flat, piece, rank))
    if not count:
        return None
    theirs = torch.empty(count, dtype=tensor.dtype, device=optimizer_state.device())
    torch.distributed.recv(theirs, src=rank)
    return theirs


def _put(
    file: int, flat: Flat, kind: str, piece: List[Part], rank: int, joined: Any, offsets: Dict[str, int]
) -> None:
    import torch

    raw = memoryview(joined.cpu().contiguous().view(torch.uint8).numpy())
    width, taken = joined.element_size(), 0
    for part, first, where in _shares(flat, piece, rank):
        size = (where.stop - where.start) * width
        write_at(file, raw[taken : taken + size], offsets["%s/%s" % (kind, part.name)] + first * width)
        taken += size
