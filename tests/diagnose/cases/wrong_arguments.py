FIRES = ("train.py: error: unrecognized arguments: --lora_ranks 8\n",)

SILENT = ("torchrun: error: step 1 loss 2.0\nstep 2 loss 2.0\n",)
