_CLOSING = "W1120 23:05:07.072 7111 api.py:1028] Sending process {} closing signal SIGTERM\n"

_ROW = (
    "  time      : 2026-11-20_13:02:58\n  rank      : {r} (local_rank: {r})\n  exitcode  : {c} (pid: {p})\n"
)

FIRES = (
    _CLOSING.format(7119) + _ROW.format(r=1, c=-15, p=7120),
    " 6%|#   | 37/625 [04:47<1:10:53, 13.8it/s]Terminated\n",
    " 6%|#   | 37/625 [04:47<1:10:53, 13.8it/s] Terminated\n",
    "step 3 loss 1.5\nstep 4 loss 1.4\nTerminated\n",
    "run.sh: line 12:  3305 Terminated              python train.py\n",
    "*** SIGTERM (@0x3f4) received by PID 20421 (TID 0x7f) from PID 20418; stack trace: ***\n",
    "[TimeInfo: at 1]\nFatalError: `Termination signal` is detected by the operating system.\n",
    "Process finished with exit code 143\n",
    "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGTERM\n",
    "timeout: sending signal TERM to command 'python'\n",
    "mpirun noticed that process rank 3 with PID 0 on node owl exited on signal 24 (CPU time limit exceeded).\n",
    "mpirun noticed that process rank 2 with PID 0 on node owl exited on signal 15 (Terminated).\n",
)

SILENT = (
    _CLOSING.format(7119) + _ROW.format(r=0, c=-15, p=7119),
    _CLOSING.format(7119) + _ROW.format(r=1, c=1, p=7120) + _ROW.format(r=0, c=-15, p=7121),
    "[rank0]: Traceback (most recent call last):\n[rank0]: KeyError: 'owl'\n"
    "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGTERM\n",
)
