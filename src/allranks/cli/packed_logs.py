"""Logs that are compressed, recognized by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

PEEK = 4096
UNREAD, DAMAGED = "not read: ", "read up to where it is damaged"
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError)


def _first(stream: IO[bytes]) -> bytes:
    return stream.peek(PEEK)[:PEEK] if hasattr(stream, "peek") else b""  # type: ignore[attr-defined]


@contextmanager
def unpacked(stream: IO[bytes], name: str, notes: list[str]) -> Iterator[IO[bytes] | None]:
    head = _first(stream)
    for magic, unpack in UNPACKERS.items():
        if head.startswith(magic):
            with unpack(stream, name, notes) as plain:
                yield plain
            return
    yield stream


@contextmanager
def _gzip(stream: IO[bytes], name: str, notes: list[str]) -> Iterator[IO[bytes]]:
    with gzip.GzipFile(fileobj=stream) as plain:
        yield cast("IO[bytes]", plain)


@contextmanager
def _xz(stream: IO[bytes], name: str, notes: list[str]) -> Iterator[IO[bytes]]:
    with lzma.LZMAFile(stream) as plain:
        yield cast("IO[bytes]", plain)


@contextmanager
def _bzip2(stream: IO[bytes], name: str, notes: list[str]) -> Iterator[IO[bytes]]:
    with bz2.BZ2File(stream) as plain:
        yield cast("IO[bytes]", plain)


@contextmanager
def _zstd(stream: IO[bytes], name: str, notes: list[str]) -> Iterator[IO[bytes] | None]:
    """Unpacks zstd with Python's own module (3.14), the package `zstandard`, or else the program `zstd`."""
    module = _module("compression.zstd")
    package = _module("zstandard")
    if module is not None:
        yield cast("IO[bytes]", _Frames(stream, module.ZstdDecompressor, module.ZstdError))
    elif package is not None:
        frames = _Frames(stream, lambda: package.ZstdDecompressor().decompressobj(), package.ZstdError)
        yield cast("IO[bytes]", frames)
    elif shutil.which("zstd") and name != "standard input":
        program = subprocess.Popen(
            ["zstd", "-dcq", "--", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            yield cast("IO[bytes]", _OfProgram(program))
        finally:
            if program.stdout is not None:
                program.stdout.close()
            program.terminate()
            program.wait()
    else:
        notes.append(f"{UNREAD}{name}: zstd is needed for it (the program, or `pip install zstandard`)")
        yield None


class _Frames:
    """Unpacks the frames of zstd one after another, and notices if the last one is not whole."""

    def __init__(self, stream: IO[bytes], begin: Callable[[], Any], error: type[Exception]) -> None:
        self.stream, self.begin, self.error = stream, begin, error
        self.frame, self.packed, self.plain = None, b"", b""

    def read1(self, size: int) -> bytes:
        while not self.plain:
            self.packed = self.packed or self.stream.read(PEEK)
            if not self.packed:
                if self.frame is not None:
                    raise EOFError("its last frame is not whole")
                return b""
            self.frame = self.begin() if self.frame is None else self.frame
            try:
                self.plain, self.packed = self.frame.decompress(self.packed), b""
            except self.error as error:
                raise OSError(str(error)) from None
            if self.frame.eof:
                self.packed, self.frame = self.frame.unused_data, None
        part, self.plain = self.plain[:size], self.plain[size:]
        return part


class _OfProgram:
    """The output of `zstd`, whose exit code says whether it was whole."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self.program = program

    def read1(self, size: int) -> bytes:
        assert self.program.stdout is not None
        part = self.program.stdout.read(size)
        if not part and self.program.wait():
            raise OSError("zstd could not unpack all of it")
        return part


def _module(name: str):  # type: ignore[no-untyped-def]  # whichever of the two there is
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        return None


UNPACKERS: dict[bytes, Callable] = {
    b"\x1f\x8b": _gzip,
    b"\x28\xb5\x2f\xfd": _zstd,
    b"\xfd7zXZ\x00": _xz,
    b"BZh": _bzip2,
}
