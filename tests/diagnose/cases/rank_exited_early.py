_TABLE = "".join(
    f"  rank      : {r} (local_rank: {r})\n  exitcode  : {c} (pid: {100 + r})\n"
    for r, c in ((0, 1), (1, -15), (3, -15))
)

_ENDED = "  rank      : 2 (local_rank: 2)\n  exitcode  : {} (pid: 102)\n"
_LOST = "[rank{0}]: Traceback (most recent call last):\n[rank{0}]: RuntimeError: [pair.cc] Connection closed by peer\n"


def _left(*after: str) -> str:
    """Rank 2 says that it is done, and then this; the others lose it."""
    steps = "".join(f"({rank}) paso {n} valor {n}.5\n" for n in range(2) for rank in range(3))
    said = "".join(f"(2) {text}\n" for text in ("no hay m\u00e1s datos", *after))
    return steps + said + _LOST.format(0) + _LOST.format(1)


FIRES = (
    _left("guardado en la carpeta", "hasta luego amigos"),
    "".join(f"[rank{r}] process group ready world_size=4\n" for r in range(4))
    + "[rank2] no batches left, leaving\n"
    + "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n" + _TABLE,
    "One rank ran out of batches, so that the others hang\n",
    _left("guardado en la carpeta", "hasta luego amigos") + _ENDED.format(-15),
)

SILENT = (
    _left("guardado en la carpeta", "hasta luego amigos") + _ENDED.format(-9),
    _left("guardado en la carpeta", "hasta luego amigos") + _ENDED.format(1),
    _left("guardado en la carpeta", "hasta luego amigos", "la carpeta tiene tres archivos"),
    "".join(f"[rank{r}] process group ready world_size=4\n" for r in range(4))
    + "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n"
    + _TABLE
    + "  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: 102)\n",
)
