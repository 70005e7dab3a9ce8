FIRES = (
    "ValueError: You can't train a model that has been loaded in 8-bit precision on a different "
    "device than the one you're training on.\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: ValueError: You cannot perform fine-tuning on purely quantized models.\n",
    "ValueError: A device map needs to be passed to run convert models into mixed-int8 format.\n",
    "ValueError: The model you want to train is loaded in 8-bit precision.\n",
)

SILENT = (
    "The model is quantized with bitsandbytes\nstep 1 loss 2.0\n",
    "NotImplementedError: Could not run 'aten::mul' with arguments from the 'SparseMPS' backend. It is only "
    "available for these backends: [CPU, MPS, Meta, QuantizedCPU].\n",
    "* bitsandbytes is no longer required\n",
)
