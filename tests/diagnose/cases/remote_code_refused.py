FIRES = (
    "ValueError: this model needs trust_remote_code, which is not set\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: ValueError: Loading m/x requires you to execute the configuration file in that "
    "repo on your local machine.\n",
)

SILENT = ("The argument `trust_remote_code` is ignored\nstep 1 loss 2.0\n",)
