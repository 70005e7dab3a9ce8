FIRES = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: can't start new thread\n",
    "-bash: fork: retry: No child processes\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: [Errno 24] Too many open files\n",
    "node1: proxy.cc:1458 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable\n",
    "Error: cannot fork after CUDA was initialized\n",
)
