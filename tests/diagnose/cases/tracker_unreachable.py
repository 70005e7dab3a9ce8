FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: wandb.errors.CommError: Run initialization has timed out after 90.0 sec.\n",
)

SILENT = ("wandb: Network error (ConnectionError), entering retry loop.\nstep 1 loss 2.0\n",)
