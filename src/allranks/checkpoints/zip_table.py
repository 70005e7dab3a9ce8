"""The table at the end of a file of torch.save, which is a zip archive since torch 1.6: is all there that it names?

The entries are not read: torch's own checksums may be left out (`set_crc32_options`), and a pickle is never loaded.
"""

from __future__ import annotations

import os
import struct
import zipfile
from dataclasses import dataclass
from typing import BinaryIO, Dict, Optional

from allranks.checkpoints.folder import Folder
from allranks.checkpoints.pickle_text import LARGEST, numbers_after
from allranks.checkpoints.weights import Damaged

LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""How a file of torch.save began before 1.6, and begins with `_use_new_zipfile_serialization=False`: the pickle of a
number."""

MOST_ENTRIES = 1_000_000
TENSOR, PIPELINE = "tensor_model_parallel_size", "pipeline_model_parallel_size"
"""Of Megatron's arguments: how many parts a model is cut into."""

STEPS = ("global_step", "global_steps", "iteration", "iter_num", "step")
LIGHTNING = b"pytorch-lightning_version"


@dataclass(frozen=True)
class Archive:
    """A file of torch.save as far as its table tells. `numbers` are those of its pickle that say how far it was."""

    entries: int
    is_torch: bool
    is_lightning: bool
    numbers: Dict[str, int]

    @property
    def step(self) -> Optional[int]:
        return next((self.numbers[name] for name in STEPS if name in self.numbers), None)


def read(folder: Folder, name: str) -> Optional[Archive]:
    """The archive; None for a file without a table, of which nothing can be told. Raises `Damaged` and OSError."""
    descriptor, size = folder.open(name)
    with os.fdopen(descriptor, "rb") as file:
        start = file.read(len(LEGACY))
        if start.startswith(b"PK\x03\x04"):
            return _read(file, size)
        if not size:
            raise Damaged("checkpoint-truncated", "the file is empty")
        if not start.strip(b"\0"):
            raise Damaged("checkpoint-file-broken", "it begins with zeros", "a zip archive, or a pickle")
        return None


def _read(file: BinaryIO, size: int) -> Archive:
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
        saw = "{:,} bytes without the table at the end: {}".format(size, error)
        raise Damaged("checkpoint-truncated", saw, "a table of what is in it") from None
    infos = archive.infolist()
    if len(infos) > MOST_ENTRIES:
        raise Damaged("checkpoint-file-broken", "it claims {:,} entries".format(len(infos)))
    for info in infos:
        if info.header_offset < 0 or info.header_offset + info.compress_size > archive.start_dir:
            raise Damaged("checkpoint-truncated", "an entry of its table lies beyond its end")
        file.seek(info.header_offset)
        if file.read(4) != b"PK\x03\x04":
            raise Damaged("checkpoint-file-broken", "an entry is not where its table says")
    described = next((info for info in infos if info.filename.rpartition("/")[2] == "data.pkl"), None)
    data = b"" if described is None else _stored(file, described)
    try:
        numbers = (
            numbers_after(data, (*STEPS, "dp_world_size", "mp_world_size", TENSOR, PIPELINE)) if data else {}
        )
    except ValueError as error:
        raise Damaged("checkpoint-file-broken", "its data.pkl is %s" % error) from None
    return Archive(len(infos), described is not None, LIGHTNING in data, numbers)


def _stored(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry that is stored as it is, without the checksum; none of one that is packed, or too large."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > LARGEST:
        return b""
    file.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(name + extra, os.SEEK_CUR)
    return file.read(info.file_size)
