FIRES = (
    "/opt/env/bin/python: can't open file '/var/spool/slurmd/job7/train.py': [Errno 2] No such file "
    "or directory\n",
    "The second node cannot find run_pretrain.py and ends\n",
    "slurmstepd: error: execve(): /u/run.sh: No such file or directory\n",
    "python: can't open file 'tra\n",
)

SILENT = (
    "can't open file descriptor 3 for the log, going on without it\nstep 1 loss 2.0\nstep 2 loss 2.0\n",
    "train.py: error: unrecognized arguments: --lora_ranks 8\n",
    "slurmstepd: error: execve(): nosuchtool: No such file or directory\n",
    (
        "it failed\n"
        "Traceback (most recent call last):\n"
        '  File "/root/tools/train.py", line 342, in <module>\n'
        "    main()\n"
    ),
)
