FIRES = (
    ("Parameter indices which did not receive grad for rank 3: 1 2\n", 3),
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "Expected to have finished reduction in the prior "
    "iteration before starting a new one.\n",
)

SILENT = ("[rank0] find_unused_parameters=True was specified in DDP constructor\n[rank0] step 1 loss 3\n",)
