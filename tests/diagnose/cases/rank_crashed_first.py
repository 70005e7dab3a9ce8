FIRES = (
    "my training on the cluster ends with a floating point exception\n",
    "the job died: illegal instruction on the older nodes\n",
    (
        "E1030 11:57:04.09 3920883 api.py:869] failed (exitcode: -8) local_rank: 2 (pid: 3920953) of binary: python\n",
        2,
    ),
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 4242 RUNNING AT node4\n=   EXIT CODE: 11\n",
    "ERROR:root:╭──────── Traceback (most recent call last) ────────╮\n"
    "ERROR:root:│ /u/train.py:245 in main                            │\n"
    "ERROR:root:╰────────────────────────────────────────────────────╯\n"
    "ERROR:root:KeyError: 'labels'\n",
    "    Traceback (most recent call last):\n"
    '      File "t.py", line 3, in f\n'
    "        x = d['labels']\n"
    "    KeyError: 'labels'\n",
    ("torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGSEGV\n", 2),
    "[rank3]: Traceback (most recent call last):\n[rank3]:     return "
    "F.embedding(\n[rank3]: IndexError: index out of range\n"
    "[rank2]: Traceback (most recent call last):\n[rank2]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n",
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -11) local_rank: 2 (pid: 9455) of binary: python3\n",
    # One log of all ranks: the others print their line of that step after the crash.
    "[rank3]: Traceback (most recent call last):\n[rank3]: IndexError: index out of range\n"
    + "".join(f"[rank{rank}] step 7 loss 2.85\n" for rank in range(24) if rank != 3)
    + "".join(
        f"[rank{rank}]: Traceback (most recent call last):\n"
        f"[rank{rank}]: RuntimeError: [gloo/pair.cc:561] Connection closed by peer\n"
        for rank in range(24)
        if rank != 3
    ),
    "step 7 loss 2.85\nterminate called after throwing an instance of 'c10::Error'\nAborted (core dumped)\n",
    "python: /u/ops/aio.cpp:125: int wait(int): Assertion `a >= b' failed.\n",
    "(Worker pid=77) [2026-07-06 07:14:27,052 C 77 77] task.cc:219: Check failed: is_valid\n",
    ("ERROR:composer.cli.launcher:Global rank 3 (PID 208) exited with code -11\n", 3),
    (
        "----------Begin global rank 1 STDERR----------\nTraceback (most recent call last):\n"
        '  File "/u/a.py", line 3, in f\nKeyError: 3\n----------End global rank 1 STDERR----------\n',
        1,
    ),
    "*** SIGSEGV (@0x0) received by PID 12 (TID 0x7f) from PID 0; stack trace: ***\n",
    "mpirun noticed that rank 3 ended on signal 11 (Segmentation fault)\n",
    "munmap_chunk(): invalid pointer\n",
    "The container stopped, exit code: 139\n",
    "MUSA error: operation not supported\n",
    (
        "it failed\n"
        "Traceback (most recent call last):\n"
        '  File "/root/tools/train.py", line 342, in <module>\n'
        "    main()\n"
    ),
    "MPT ERROR: Rank 1(g:1) is aborting with error code 1.\n"
    "\tProcess ID: 308, Host: r2i3, Program: /x/y\n"
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n",
    "application called MPI_Abort(MPI_COMM_WORLD, 0) - process 0\n",
    "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n",
    "Traceback (most recent call last):\n"
    '  File "/e/site-packages/xtuner/dataset/maker.py", line 9, in build_dataset\n'
    "    return make(rows)\n"
    '  File "/e/site-packages/xtuner/dataset/maker.py", line 3, in make\n',
    "***** train metrics *****\n"
    "Training completed.\n"
    "Traceback (most recent call last):\n"
    '  File "/x/launcher.py", line 23, in <module>\n'
    "    launch()\n"
    '  File "/x/tuner.py", line 3, in run_exp\n',
    "ERROR: Failed building wheel for ninja\n",
    "ERROR: Could not build wheels for tokenizers\n",
    "NameError: name 'wandb_api_key' is not defined\n",
    '  error_file: /tmp/x/attempt_0/0/error.json\n  msg:\n    {\n      "message": "RuntimeError: thrown on purpose",\n',
    # The root cause is the first, also before rows of later seconds that are printed above it.
    (
        "  time      : 2026-11-20_13:02:58\n  rank      : 1 (local_rank: 1)\n  exitcode  : -11 (pid: 11)\n"
        "Root Cause (first observed failure):\n[0]:\n"
        "  time      : 2026-11-20_13:02:50\n  rank      : 2 (local_rank: 2)\n  exitcode  : -11 (pid: 21)\n",
        2,
    ),
    # SLURM ended the step, and no exit code before that is in the log.
    (
        "srun: launch/slurm: _step_signal: Terminating StepId=812.0\n"
        "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: [gloo/pair.cc:561] Connection closed by "
        "peer\nsrun: error: n1: task 5: Exited with exit code 1\n",
        5,
    ),
    (
        "srun: error: n1: task 5: Exited with exit code 1\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=812.0\n"
        "slurmstepd: error: *** STEP 812.0 ON n1 CANCELLED AT 2026-02-09T17:26:51 ***\n"
        "srun: error: n2: task 10: Killed\nsrun: error: n1: tasks 1,3-4: Killed\n",
        5,
    ),
)

SILENT = (
    "[rank1]: Traceback (most recent call last):\n[rank1]: ModuleNotFoundError: No module named 'flash_attn'\n",
    "[rank2]: Traceback (most recent call last):\n[rank2]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n",
)
