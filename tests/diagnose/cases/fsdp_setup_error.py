FIRES = (
    "Traceback (most recent call last):\n"
    "AssertionError: Non-root FSDP instance's `_is_root` should not have been set yet\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and "
    "torch.float32\n",
)

SILENT = ("FSDP is enabled with 8 shards\nstep 1 loss 2.0\n",)
