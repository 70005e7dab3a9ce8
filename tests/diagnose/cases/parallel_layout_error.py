FIRES = (
    "Traceback (most recent call last):\nAssertionError: 40 is not divisible by 16\n",
    '[rank9]:   File "/u/attention.py", line 438, in __init__\n'
    "[rank9]: AssertionError: The number of heads must be divisible by world size\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: AssertionError: world size (24) is not divisible by tensor_model_parallel_size "
    "(16)\n",
    'Traceback (most recent call last):\n  File "a.py", line 3, in go\n    assert layers % stages == 0\n'
    "AssertionError\n",
)

SILENT = ("batch size 24 is divisible by 8\nstep 1 loss 2.0\n",)
