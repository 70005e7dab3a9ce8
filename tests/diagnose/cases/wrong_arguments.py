FIRES = (
    "/opt/env/bin/python: can't open file '/var/spool/slurmd/job7/train.py': [Errno 2] No such file "
    "or directory\n",
    "train.py: error: unrecognized arguments: --lora_ranks 8\n",
)

SILENT = ("torchrun: error: step 1 loss 2.0\nstep 2 loss 2.0\n",)
