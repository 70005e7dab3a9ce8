FIRES = (
    "node1:5:9 [1] transport/p2p.cc:275 NCCL WARN Cuda failure 217 'peer access "
    "is not supported between these two devices'\n",
)

SILENT = ("node1:5:9 [1] NCCL INFO P2P Chrome : enabled\nnode1: [rank0] step 1 loss 3\n",)
