FIRES = (
    "[rank0] step 16 loss 2.4\n"
    "W1120 23:10:07.984 9376 api.py:752] Received 1 death signal, shutting down workers\n"
    "Traceback (most recent call last):\n"
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 9376 got signal: 1\n",
    "WARNING: Sending process 812 closing signal SIGHUP\nWARNING: Sending process 813 closing signal SIGHUP\n",
    "My job dies of SIGHUP although I use nohup\n",
)

SILENT = (
    "W1120 23:05:07.072 7111 api.py:1028] Sending process 7119 closing signal SIGTERM\n",
    "WARNING: Sending process 812 closing signal SIGTERM\n",
)
