_TABLE = "".join(
    f"  rank      : {r} (local_rank: {r})\n  exitcode  : {c} (pid: {100 + r})\n"
    for r, c in ((0, 1), (1, -15), (3, -15))
)

FIRES = (
    "".join(f"[rank{r}] process group ready world_size=4\n" for r in range(4))
    + "[rank2] no batches left, leaving\n"
    + "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n" + _TABLE,
    "One rank ran out of batches, so that the others hang\n",
)

SILENT = (
    "".join(f"[rank{r}] process group ready world_size=4\n" for r in range(4))
    + "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n"
    + _TABLE
    + "  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: 102)\n",
)
