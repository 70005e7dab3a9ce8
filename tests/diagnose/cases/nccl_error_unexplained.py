FIRES = (
    "node1:100:200 [1] transport.cc:154 NCCL WARN Cuda failure 'invalid argument'\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled system error "
    "(run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n"
    "[rank1]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n",
    "The server ended: [NCCL error sendPlugin.cpp:129 'invalid usage (run with NCCL_DEBUG=WARN for details)']\n",
    (
        "n7:9:32 [3] proxy.cc:1490 NCCL WARN [Service thread] Error encountered progressing operation=Connect, res=2\n"
        "n7:9:32 [3] proxy.cc:1524 NCCL WARN [Proxy Service 11] Failed to execute operation Connect from rank 11, "
        "retcode 2\n"
        "n7:9:23 [3] misc/socket.cc:51 NCCL WARN socketProgress: Connection closed by remote peer n7.local<41108>\n",
        11,
    ),
    (
        "10:07:31.266 [rank2]:[F18 10:07:31.902 ProcessGroupNCCL.cpp:1609] [PG ID 2 PG GUID 9 Rank 2] Terminating the "
        "process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang.\n",
        2,
    ),
)

SILENT = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, NCCL version 2.21.5\n"
    "[rank1]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting.\n",
    "nccl_default_timeout_minutes: null\n",
)
