FIRES = (
    "ValueError: the checkpoint does not fit a tensor parallel size of 4\n",
    "# Size mismatch of a checkpoint that 8 ranks sharded\n",
    "Traceback (most recent call last):\n"
    "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([0])\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: megatron.core.dist_checkpointing.core.CheckpointingException: Global shape "
    "mismatch for loaded (torch.Size([50304, 4096])) and expected ((50432, 4096)) tensor for "
    "key embedding.weight\n",
    "Traceback (most recent call last):\n"
    "RuntimeError: You set `ignore_mismatched_sizes` to `False`, thus raising an error. For details look above\n",
    "AssertionError: num_layers value from checkpoint (32) is not equal to the input argument value (16).\n",
    "ValueError: a tensor of shape torch.Size([70, 8]) for embed (which has shape torch.Size([64, 8]))\n",
    ("Rank 1 has different values for step: 5230.0. Other ranks: 5104.0\n", 1),
    (
        "[rank2]: Traceback (most recent call last):\n"
        "[rank2]: FileNotFoundError: [Errno 2] No such file or directory: 'ckpt/step_40/data_rank00002.pt'\n",
        2,
    ),
)

SILENT = (
    "size mismatch for w: copying a param with shape torch.Size([4, 4]) from checkpoint, the "
    "shape in current model is torch.Size([0]).\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: FileNotFoundError: [Errno 2] No such file or directory: 'ckpt/step_40/data_rank00002.pt'\n",
    "".join(  # nothing was saved
        f"[rank{rank}]: Traceback (most recent call last):\n"
        f"[rank{rank}]: FileNotFoundError: [Errno 2] No such file or directory: 'ckpt/step_40/data_rank{rank}.pt'\n"
        for rank in range(3)
    ),
)
