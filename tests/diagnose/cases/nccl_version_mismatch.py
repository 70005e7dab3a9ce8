FIRES = (
    "ImportError: /opt/env/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so: "
    "undefined symbol: ncclCommRegister\n",
    "node2:31:90 [3] NCCL WARN Mismatched NCCL version detected : rank 0 version 22605 rank 11 version 22707\n",
)

SILENT = ("node1:31:31 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\nnode1: [rank0] step 1 loss 2.0\n",)
