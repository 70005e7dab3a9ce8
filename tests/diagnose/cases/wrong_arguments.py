FIRES = (
    "run.sh: line 9: --lr: command not found\n",
    "failed (exitcode: 2) local_rank: 0 (pid: 3623) of binary: /opt/env/bin/python\n",
    "Error: Missing option '--config'.\n",
    "train.py: error: unrecognized arguments: --lora_ranks 8\n",
    "Usage: train [OPTIONS] COMMAND [ARGS]...\nTry 'train --help' for help.\n\nError: No such command 'go'.\n",
    "ValueError: remaining_argv: ['--lora_ranks', '8']\n",
    "Got unknown args, potentially deprecated arguments: ['--lora_ranks']\n",
)

SILENT = (
    "failed (exitcode: 3) local_rank: 0 (pid: 3623) of binary: /opt/env/bin/python\n",
    "failed (exitcode: 1) local_rank: 0 (pid: 3623) of binary: /opt/env/bin/python\n",
    "torchrun: error: step 1 loss 2.0\nstep 2 loss 2.0\n",
)
