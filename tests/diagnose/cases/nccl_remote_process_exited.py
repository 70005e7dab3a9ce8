FIRES = (
    (
        "E coordination_service.cc:954] UNAVAILABLE: Task /job:jax_worker/replica:0/task:37 heartbeat "
        "timeout.\n",
        37,
    ),
    "Traceback (most recent call last):\n"
    "AbortedError: Horovod has been shut down. This was caused by an exception on one of the ranks.\n",
    "[rank5]:[E207 19:37:09.983 ProcessGroupNCCL.cpp:681] [Rank 5] Some NCCL operations have failed "
    "or timed out.\n"
    "[rank5]:[E207 19:37:09.983 ProcessGroupNCCL.cpp:695] [Rank 5] To avoid data inconsistency, we "
    "are taking the entire process down.\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
    "prematurely.\n",
    "[rank5]: Traceback (most recent call last):\n[rank5]: torch.distributed.DistBackendError: NCCL error in: "
    "ProcessGroupNCCL.cpp:1333, remote process exited or there was a network error, NCCL version 2.21.5\n"
    "[rank5]: ncclRemoteError: A call failed possibly due to a network "
    "error or a remote process exiting prematurely.\n",
)

SILENT = (
    "[rank3]: Traceback (most recent call last):\n[rank3]: KeyError: 'labels'\n"
    "[rank5]: Traceback (most recent call last):\n[rank5]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n",
)
