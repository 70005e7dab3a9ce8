FIRES = (
    "Status:         Failed\nReason:         Evicted\nMessage:        The node was low on resource: memory. Threshold "
    "quantity: 100Mi.\n",
    "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137.\n",
    "=>> PBS: job killed: mem 70254592kb exceeded limit 67108864kb\n",
    (
        "slurmstepd-gpu7: error: Detected 1 oom-kill event(s) in StepId=77.0. Some of your processes may be gone.\n"
        "srun: error: gpu7: task 5: Out Of Memory\n"
        "slurmstepd-gpu7: error: *** STEP 77.0 ON gpu7 CANCELLED AT 2026-02-03T04:05:06 ***\n",
        5,
    ),
    "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0. Some of the step tasks have been OOM Killed.\n"
    "srun: error: node3: task 7: Out Of Memory\n",
    "[ 4823.1] Memory cgroup out of memory: Killed process 9455 (python) total-vm:214748364kB\n"
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 9455) of binary: python3\n",
    "RuntimeError: One of the subprocesses has abruptly died during map operation.\n",
    "All memory was used up, so the loader was killed\n",
    "The pod was OOMkilled again\n",
    "The jobs are evicted for lack of memory\n",
    "100%|##########| 143/143 [6:28:47<00:00, 163.13s/it]\n"
    "Memory on the node (IP: 10.1.1.4, ID: ba65) where the task (task ID: d2, name=head) was "
    "running\n",
    "[30122.1] memory: usage 131072kB, limit 131072kB, failcnt 12044\n"
    "[30122.1] kmem: usage 180kB, limit 900kB, failcnt 0\n",
    "Killed\n[Thu] Out of memory: Kill process 20 (python) score 982 or sacrifice child\n",
)

SILENT = (
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 9455) of binary: python3\n",
    "ray.exceptions.ActorDiedError: Worker exit type: SYSTEM_ERROR Worker "
    "exit detail: Worker unexpectedly exits with a "
    "connection error code 2. Some common causes include: (1) the process was killed by the OOM killer\n",
)
