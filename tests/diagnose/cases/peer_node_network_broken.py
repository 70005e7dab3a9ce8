def _ends(after: int, apart: int = 0) -> str:
    """Two nodes' ranks end so many seconds after the last step, and so far apart; nobody says why."""
    return "".join(f"node{n}: 2026-11-20 13:02:30.000 [rank{n}] step 3 loss 2.9\n" for n in (0, 1)) + "".join(
        f"node{n}:   time      : 2026-11-20_13:02:{30 + after + n * apart:02}\n"
        f"node{n}:   rank      : {n} (local_rank: 0)\nnode{n}:   exitcode  : 1 (pid: {n}1)\n"
        for n in (0, 1)
    )


FIRES = (
    "node1: [rank0] step 3 loss 2.9\n"
    "node1:5:9 [0] NCCL WARN Call to recv from 10.0.0.2<4123> failed : Connection timed out\n",
    "".join(f"node{1 + r // 2}: [rank{r}] world_size=4 ready\n" for r in range(4))
    + "node1: [rank0] step 3 loss 2.9\n"
    + "".join(
        f"node{1 + r // 2}: [rank{r}]: Traceback (most recent call last):\nnode{1 + r // 2}: [rank{r}]: RuntimeError: "
        "[gloo/unbound_buffer.cc:78] Timed out waiting 15000ms for recv operation to complete\n"
        for r in range(4)
    ),
    _ends(5),
    _ends(9, apart=5),
)

SILENT = (
    "node1: [rank0] step 3 loss 2.9\nnode2: [rank1] step 3 loss 2.9\n"
    "node2: [rank1]: Traceback (most recent call last):\nnode2: [rank1]: KeyError: 'labels'\n",
    _ends(4),
    _ends(9, apart=6),
    # Only one rank's timeout is known.
    "".join(f"node{r}: [rank{r}] step 3 loss 2.9\n" for r in range(3))
    + "-- Process 2 terminated with the following error:\nTraceback (most recent call last):\n"
    "RuntimeError: [gloo/unbound_buffer.cc:129] Timed out waiting 12000ms for send operation to complete\n",
)
