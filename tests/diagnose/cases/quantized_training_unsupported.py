FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: ValueError: You cannot perform fine-tuning on purely quantized models.\n",
)

SILENT = ("The model is quantized with bitsandbytes\nstep 1 loss 2.0\n",)
