FIRES = (
    "Traceback (most recent call last):\n"
    "AssertionError: Index file doesn't match expected format. Make sure that --dataset-impl is "
    "configured properly.\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: pyarrow.lib.ArrowInvalid: JSON parse error: Missing a comma or '}' in row 3\n",
)

SILENT = ("Map: 100%|##########| 10/10\nstep 1 loss 2.0\n",)
