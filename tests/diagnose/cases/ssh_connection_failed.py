FIRES = (
    "subprocess.CalledProcessError: Command 'ssh -o PasswordAuthentication=no gpu-7 hostname' "
    "returned non-zero exit status 255.\n",
    "Traceback (most recent call last):\nRuntimeError: Using hostfile at hostfile "
    "but host=10.0.0.2 was not reachable via ssh.\n",
    "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: 'ssh'\n",
    "Over ssh the second node was not reachable\n",
    "pdsh@head: worker-1: connect: Connection refused\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: PermissionError: [Errno 13] Permission denied: 'out'\n",
    "I use ssh to log in\nthe training hangs\n",
)
