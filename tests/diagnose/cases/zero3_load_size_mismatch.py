FIRES = (
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x512 and 0x0)\n",
    "ValueError: Fan in and fan out can not be computed for tensor with fewer than 2 dimensions\n",
    "RuntimeError: weight should have at least three dimensions\n",
    "RuntimeError: Given normalized_shape=[64], but got weight of shape [0]\n",
    "RuntimeError: The expanded size of the tensor (64) must match the existing size (0)\n",
    "RuntimeError: shape '[8, 8]' is invalid for input of size 0\n",
    "RuntimeError: size mismatch, got input (8), mat (8x64), vec (0)\n",
    "ValueError: a tensor of shape torch.Size([64, 64]) for head.weight (which has shape torch.Size([0]))\n",
    "AssertionError: Padding_idx must be within num_embeddings\n",
    "AssertionError: {'id': 7, 'status': 'AVAILABLE', 'numel': 0, 'ds_numel': 0}\n",
    "Under ZeRO-3 the embedding is empty when the model is changed, and it fails\n",
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: Error(s) in loading state_dict for Llama:\n"
    "[rank1]: \tsize mismatch for a.weight: copying a param with shape "
    "torch.Size([64, 64]) from checkpoint, the shape in "
    "current model is torch.Size([0]).\n",
    "RuntimeError: Error(s) in loading state_dict for A:\n\tsize mismatch for a.weight: copying a param with shape "
    "torch.Size([2, 32]) from checkpoint, the shape in current model is torch.Size([1]).\n",
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: The size'
    " of tensor a (0) must match the size of tensor b (14336) at dimension 1\n",
    "RuntimeError: shape '[-1, 0]' is invalid for input of size 60\n",
    "# AssertionError with stage 3, ds_status of a parameter\n",
)

SILENT = (
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x512 and 256x10)\n",
    "RuntimeError: shape '[8, 8]' is invalid for input of size 60\n",
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: size "
    "mismatch for a.weight: copying a param with shape "
    "torch.Size([64, 64]) from checkpoint, the shape in current model is torch.Size([32, 64]).\n",
)
