import logging
import struct

log = logging.getLogger("loader")


class ShardError(RuntimeError):
    pass


def read_shard(blob, rank=0):
    if len(blob) < 8:
        log.error("rank %d: truncated header (%d bytes)", rank, len(blob))
        raise ShardError("truncated header")
    n, d = struct.unpack("<II", blob[:8])
    if len(blob) != 8 + 4 * n * d:
        log.critical("rank %d: shard is corrupt, want %d bytes, have %d; aborting", rank, 8 + 4 * n * d, len(blob))
        raise ShardError("size mismatch")
    return n, d, blob[8:]
