FIRES = (
    "OSError: [WinError 112] There is not enough space on the disk\n",
    'SafetensorError: IoError(Os { code: 28, kind: StorageFull, message: "none left" })\n',
    "ValueError: not enough disk space for the next checkpoint\n",
    "Message:        The node was low on resource: ephemeral-storage.\n",
    "[rank2]: Traceback (most recent call last):\n[rank2]: RuntimeError: basic_ios::clear: iostream error\n"
    "[rank2]: During handling of the above exception, another exception occurred:\n"
    "[rank2]: Traceback (most recent call last):\n"
    "[rank2]: RuntimeError: [enforce fail at inline_container.cc:671] . unexpected pos 832 vs 726\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: [Errno "
    "122] Disk quota exceeded: 'out/optimizer.pt'\n",
    "luajit: File.lua:210: write error: wrote 39776036 blocks instead of 41251350\n",
    "Traceback (most recent call last):\nOSError: [Errno 27] File too large\n",
)

SILENT = (
    "RuntimeError: not enough GPU memory, no space for one more block\n",
    "[rank2]: RuntimeError: unable to write to file </torch_7252_59_0>: No space left on device (28)\n",
    "Traceback (most recent call last):\nValueError: File too large, the owls are 4 GB\n",
)
