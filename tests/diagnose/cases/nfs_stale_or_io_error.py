FIRES = (
    "[rank3]: Traceback (most recent call last):\n[rank3]: OSError: [Errno "
    "116] Stale file handle: '/nfs/cache/x.json'\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: [Errno 5] Input/output error\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: FileNotFoundError: [Errno 2] No such file: 'x'\n",
)
