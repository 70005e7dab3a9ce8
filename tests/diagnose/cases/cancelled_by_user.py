FIRES = (
    "step 9 loss 2.1\nslurmstepd: error: *** JOB 4242 ON gpu1 CANCELLED AT 2026-01-05T10:11:12 ***\n",
    "step 9 loss 2.1\n[2026-01-05 10:11:12,420] [INFO] [launch.py:328:sigkill_handler] Main process received SIGINT, "
    "exiting\n",
    'Traceback (most recent call last):\n  File "/u/train.py", line 3, in <module>\n    step()\nKeyboardInterrupt\n',
    "The run was aborted by user\n",
    "^CTerminating processes on user request, this might take some time.\n"
    "WorkflowError:\n"
    "Unable to cancel jobs with scancel\n",
    "rank 0 ended its epoch\n^CTraceback (most recent call last):\n"
    '  File "/x/train.py", line 8, in <module>\n    go()\n',
)

SILENT = (
    "slurmstepd: error: *** JOB 4242 ON gpu1 CANCELLED AT 2026-01-05T10:11:12 DUE TO TIME LIMIT ***\n",
    "srun: error: n2: task 39: Aborted (core dumped)\nslurmstepd: error: *** STEP 27.0 ON n"
    "2 CANCELLED AT 2023-11-03T01:03:07 ***\n",
)
