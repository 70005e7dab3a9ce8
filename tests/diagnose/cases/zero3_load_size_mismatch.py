FIRES = (
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: Error(s) in loading state_dict for Llama:\n"
    "[rank1]: \tsize mismatch for a.weight: copying a param with shape "
    "torch.Size([64, 64]) from checkpoint, the shape in "
    "current model is torch.Size([0]).\n",
    "RuntimeError: Error(s) in loading state_dict for A:\n\tsize mismatch for a.weight: copying a param with shape "
    "torch.Size([2, 32]) from checkpoint, the shape in current model is torch.Size([1]).\n",
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: The size'
    " of tensor a (0) must match the size of tensor b (14336) at dimension 1\n",
)

SILENT = (
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: size "
    "mismatch for a.weight: copying a param with shape "
    "torch.Size([64, 64]) from checkpoint, the shape in current model is torch.Size([32, 64]).\n",
)
