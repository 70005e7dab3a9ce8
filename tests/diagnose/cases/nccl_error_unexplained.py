FIRES = (
    "node1:100:200 [1] transport.cc:154 NCCL WARN Cuda failure 'invalid argument'\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled system error "
    "(run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n"
    "[rank1]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n",
    "The server ended: [NCCL error sendPlugin.cpp:129 'invalid usage (run with NCCL_DEBUG=WARN for details)']\n",
)

SILENT = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, NCCL version 2.21.5\n"
    "[rank1]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting.\n",
    "nccl_default_timeout_minutes: null\n",
)
