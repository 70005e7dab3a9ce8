FIRES = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: RuntimeError: HIP error: invalid device function\n",
    "Memory access fault by GPU node-4 (Agent handle: 0x55d1) on address 0x7f0000. Reason: Unknown.\n",
)

SILENT = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.\n",
)
