FIRES = (
    "# Gradient checkpointing blocks the update of LoRA weights\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "element 0 of tensors does not require grad and does "
    "not have a grad_fn\n",
)

SILENT = (
    "None of the inputs have requires_grad=True. Gradients will be None\n"
    + "".join(f"step {n} loss 3\n" for n in range(20)),
)
