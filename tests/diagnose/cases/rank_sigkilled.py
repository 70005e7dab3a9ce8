_ROW = "  time      : 2026-11-20_13:{t}\n  rank      : {r} (local_rank: {r})\n  exitcode  : {c} (pid: {r}1)\n"

_ROW_ALIKE = (
    "  time      : 2026-11-20_13:02:50\n  rank      : {r} (local_rank: {r})\n  exitcode  : -9 (pid: {r}1)\n"
)

FIRES = (
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 4242 RUNNING AT node4\n=   EXIT CODE: 9\n",
    ("torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGKILL\n", 3),
    "[rank3]: Traceback (most recent call last):\n"
    "[rank3]: RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:36532\n"
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 9455) of binary: python3\n",
    "[2023-05-02 11:22:33,123] [ERROR] [launch.py:434:sigkill_handler] "
    "['python', 't.py'] exits with return code = -9\n",
    _ROW.format(t="02:50", r=1, c=1) + _ROW.format(t="02:59", r=0, c=-9),
    "loss: 0.57\n  6%|###      | 3787/62565 [04:47<1:10:53, 13.82it/s]Killed\n",
    "Process 2 exit with status code 137.\n",
    "My run gets killed after ten minutes and prints nothing else\n",
    "The trainer left with return code = -9\n",
    "\u8fd0\u884c\u5230\u4e00\u534a\u8fdb\u7a0b\u88abkill\u4e86\n",
    "\u7b2c\u4e09\u8f6e\u65f6\u7a0b\u5e8fkilled\n",
    "mpirun noticed that process rank 3 exited on signal 9 (Killed)\n",
    "Command exited with status 137\n",
    "errors.ChildFailedError\uff08exitcode: -9\uff09\u53cd\u590d\u51fa\u73b0\n",
    'The process on docker keeps ending with "Killed"\n',
    # DeepSpeed's launcher prints the command of the last process that it started, not of the one that failed.
    (
        "[ERROR] [launch.py:434:sigkill_handler] ['python', '-u', 't.py', '--local_rank=1', 'x'] "
        "exits with return code = -9\n",
        None,
    ),
    (
        "[ERROR] [launch.py:434:sigkill_handler] ['python', '-u', 't.py', '--local_rank=0', 'x'] "
        "exits with return code = -9\n",
        0,
    ),
    "Process 1 exit with status code 137.\nProcess 0 exit with status code 143.\n",
    # All in one second: the root cause is the first, though it is printed last.
    (
        "Failures:\n[1]:\n"
        + _ROW_ALIKE.format(r=1)
        + "[2]:\n"
        + _ROW_ALIKE.format(r=2)
        + "Root Cause (first observed failure):\n[0]:\n"
        + _ROW_ALIKE.format(r=0),
        0,
    ),
    "step 3 loss 2.5\nwatch: exit codes [-9, -9, -9]\n",
    ("step 3 loss 2.5\nwatch: exit codes [1, -9, 1]\n", 1),
)

SILENT = (
    "srun: error: n1: task 5: Exited with exit code 1\n"
    "srun: launch/slurm: _step_signal: Terminating StepId=812.0\n"
    "srun: error: n2: task 10: Killed\nsrun: error: n1: tasks 1,3-4: Killed\n",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 4242 RUNNING AT node4\n=   EXIT CODE: 1\n",
    "  rank      : 0 (local_rank: 0)\n  exitcode  : -15 (pid: 7119)  (SIGTERM)\n",
    "W1120 api.py:900] Unable to shutdown process 9455 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL\n"
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 9455) of binary: python3\n",
    _ROW.format(t="02:58", r=1, c=1) + _ROW.format(t="03:29", r=0, c=-9),
    _ROW.format(t="02:50", r=1, c=1) + _ROW.format(t="03:00", r=0, c=-9),
    "The helper can be killed at any time\n",
    "The agent noticed it and killed most of the others\n",
)
