FIRES = (
    "Traceback (most recent call last):\nValueError: Couldn't instantiate the backend tokenizer from one of:\n",
    "ValueError: You should supply an encoding or a list of encodings to this method\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: ValueError: Asking to pad but the tokenizer does not have a padding token.\n",
)

SILENT = ("Setting pad token to eos token\nstep 1 loss 2.0\n",)
