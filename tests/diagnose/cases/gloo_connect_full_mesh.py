FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] no error\n",
    "With 900 hosts connectFullMesh() fails in the first step\n",
)

SILENT = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: ModuleNotFoundError: No module named 'flash_attn'\n"
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: Gloo connectFullMesh failed with "
    "[gloo/transport/tcp/pair.cc:144] Connection reset by peer\n",
)
