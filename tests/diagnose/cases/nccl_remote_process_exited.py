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
    (
        "E coordination_service.cc:901] /job:jax_worker/replica:0/task:3 unexpectedly tried to connect with a "
        "different incarnation. It has likely restarted.\n",
        3,
    ),
    (
        "F client.h:77] Terminating process because the JAX distributed service detected fatal errors. absl::Status: "
        "UNAVAILABLE: Failed to send RPC to coordination service. Either the leader task was "
        "preempted/died/restarted unexpectedly or this task is experiencing network issues.\n",
        0,
    ),
    (
        "[W tensorpipe_agent.cpp:725] RPC agent for 3 encountered error when reading incoming response from 1: "
        "async error on socket: Connection reset by peer\n"
        "[W tensorpipe_agent.cpp:701] RPC agent for 2 encountered error when sending outgoing request #4 to worker1: "
        "async error on socket: Connection reset by peer\n",
        1,
    ),
    (
        "[rank1]: Traceback (most recent call last):\n"
        "[rank1]: RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting for "
        "send/recv from rank 0. Please check rank 0 logs for faulty rank.\n"
        "[rank1]: Original exception:\n"
        "[rank1]: [/gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.9]:4321\n",
        0,
    ),
    (
        "Traceback (most recent call last):\n"
        "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv "
        "from rank 2. Please check rank 2 logs for faulty rank.\n Original exception:\n",
        2,
    ),
)

SILENT = (
    "[rank3]: Traceback (most recent call last):\n[rank3]: KeyError: 'labels'\n"
    "[rank5]: Traceback (most recent call last):\n[rank5]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n",
)
