FIRES = (
    "NotImplementedError: Cannot copy out of meta tensor; no data!\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: RuntimeError: Expected all tensors to be on the same device, but found at least "
    "two devices, cuda:0 and cuda:1!\n",
    "torch.distributed.DistBackendError: Tensor on device cuda:0 is not on the expected device cuda:1\n",
    "张量不在同一设备上 cuda:0 and cpu\n",
)

SILENT = (
    "Traceback (most recent call last):\nRuntimeError: expected scalar type Float but found BFloat16\n",
    "RuntimeError: Input type (double) and bias type (float) should be the same\n",
    "RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same\n",
    "All tensors are on the same device now\nstep 1 loss 2.0\n",
    "[W101 00:00:00 ProcessGroupNCCL.cpp:4115] using GPU 1 to perform barrier as devices used by this "
    "process are currently unknown. Specify device_ids in barrier() or call init_process_group() with a "
    "device_id.\n",
)
