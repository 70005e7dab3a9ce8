FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: Engine core initialization failed. See root cause above.\n",
)

SILENT = ("INFO: vLLM engine is ready\nstep 1 loss 2.0\n",)
