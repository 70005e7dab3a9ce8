FIRES = (
    "RuntimeError: the output folder is not writable by this user\n",
    "Traceback (most recent call last):\nRuntimeError: open(/rendezvous): Permission denied\n",
    "Traceback (most recent call last):\nRuntimeError: File out/checkpoint_3.pt cannot be opened.\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: PermissionError: "
    "[Errno 13] Permission denied: 'out/checkpoint-500'\n"
    "[rank3]: Traceback (most recent call last):\n[rank3]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: [Errno 30] Read-only file system: '/data/out'\n",
)

SILENT = ("root@node2: Permission denied (publickey,password).\n",)
