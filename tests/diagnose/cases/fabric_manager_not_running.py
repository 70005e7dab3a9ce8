FIRES = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: Unexpected error from cudaGetDeviceCount(). "
    "Did you run some cuda functions before calling NumCudaDevices() that "
    "might have already set an error? Error 802: "
    "system not yet initialized\n",
    "node1:9:9 [0] transport/nvls.cc:156 NCCL WARN Cuda failure 802 'system not yet initialized'\n",
    "Could not Enable UVM Persistence mode because the NVLink fabric is not ready\n",
)

SILENT = ("[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: Error 803 in line 4\n",)
