FIRES = (
    ("ERROR:composer.cli.launcher:Rank 2 crashed with exit code -7.\n", 2),
    "[rank2]: Traceback (most recent call last):\n[rank2]: RuntimeError: Caught "
    "RuntimeError in DataLoader worker process 0.\n"
    "[rank2]: Original Traceback (most recent call last):\n"
    "[rank2]: RuntimeError: unable to allocate shared memory(shm) for file "
    "</torch_7252_59_0>: No space left on device (28)\n",
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -7) local_rank: 2 (pid: 9455) of binary: python3\n",
    "[17.2] [n1:7:0] sys.c:762 UCX  ERROR shmget(size=65536) for user allocation failed: see ipcs -l\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: [Errno 28] No space left on device: 'out/a.pt'\n",
)
