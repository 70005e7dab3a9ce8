FIRES = (
    "RuntimeError: find_unused_parameters must be set for this model\n",
    ("Parameter indices which did not receive grad for rank 3: 1 2\n", 3),
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "Expected to have finished reduction in the prior "
    "iteration before starting a new one.\n",
    "[rank1]:[I816 21:41:23.03 reducer.cpp:1989] [Rank 1] Parameter: head.bias "
    "did not get gradient in backwards pass.\n",
    "ValueError: some parameters have no gradient, the reducer waits\n",
)

SILENT = ("[rank0] find_unused_parameters=True was specified in DDP constructor\n[rank0] step 1 loss 3\n",)
