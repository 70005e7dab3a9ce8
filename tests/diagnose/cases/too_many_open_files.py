FIRES = (
    "Traceback (most recent call last):\n"
    "RuntimeError: unable to open shared memory object </torch_7324_17_118> "
    "in read-write mode: Too many open files (24)\n"
    "W1120 23:06:36.561 7301 api.py:752] Received 15 death signal, shutting down workers\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: received 0 items of ancdata\n",
)

SILENT = (
    "[rank0] opened 256 files\n[rank0] step 1 loss 3\n",
    '--> 185 image.load()  # so that there are never "Too many open files"\nOSError: image file '
    "is truncated (1 bytes not processed)\n",
)
