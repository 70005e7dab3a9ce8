FIRES = (
    "AssertionError: expects all parameters to have same requires_grad\n",
    'Traceback (most recent call last):\n  File "a.py", line 3, in go\n    prepare(model)\n'
    '  File "b.py", line 9, in prepare\n'
    "    model = FSDP(model)\n",
    "Traceback (most recent call last):\n"
    "AssertionError: Non-root FSDP instance's `_is_root` should not have been set yet\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and "
    "torch.float32\n",
)

SILENT = ("FSDP is enabled with 8 shards\nstep 1 loss 2.0\n",)
