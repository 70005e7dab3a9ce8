FIRES = (
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, invalid usage\n"
    "[rank1]: ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
    "[rank1]: Last error:\n"
    "[rank1]: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 53000\n",
    "node1:812:990 [0] NCCL WARN Multiple Ranks are using the same GPU/Partition. "
    "Set NCCL_MULTI_RANK_GPU_ENABLE=1 to run\n",
    "the second node says rank 8 and rank 0 both on CUDA device d000\n",
    "Error: two processes of the job use the same GPU, rank 4 and rank 5\n",
    "RuntimeError: several ranks on one device are not supported\n",
)

SILENT = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
    "2.00 GiB. GPU 0 has a total capacity of 79 GiB\n",
    ("All processes use the same GPU type.\nstep 1 loss 2.0\nstep 2 loss 1.9\n"),
)
