FIRES = (
    "gpu-node-02: [rank3]: Traceback (most recent call last):\n"
    "gpu-node-02: [rank3]: ModuleNotFoundError: No module named 'flash_attn'\n"
    "gpu-node-01: [rank0]: Traceback (most recent call last):\n"
    "gpu-node-01: [rank0]: RuntimeError: [gloo/pair.cc:561] Connection closed by peer [10.20.0.12]:20668\n",
    "Traceback (most recent call last):\nImportError: the decoder needs nibabel\n",
)

SILENT = (
    "Warning: No module named 'apex', using torch's own\n"
    + "".join(f"[rank0] step {n} loss 3\n" for n in range(20)),
)
