FIRES = (
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: DataLoader "
    "worker (pid 7181) is killed by signal: Killed. \n"
    "[rank1]: The above exception was the direct cause of the following exception:\n"
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: "
    "DataLoader worker (pid(s) 7181) exited unexpectedly\n",
    "Traceback (most recent call last):\n"
    '  File "/work/train.py", line 31, in train\n'
    '  File "/env/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 1251, in _try_get_data\n'
    '  File "/env/lib/python3.11/site-packages/torch/multiprocessing/reductions.py", line 541, in rebuild_storage_fd\n'
    '  File "/usr/lib/python3.11/multiprocessing/connection.py", line 395, in _recv\n'
    "ConnectionResetError: [Errno 104] Connection reset by peer\n",
    "The programs are killed by Dataloader worker\n",
    "Dataloader worker is killed\n",
    (
        "xla:0 loss=2.04\nxla:1 loss=0.44\n\n"
        "Exception in device=TPU:6: DataLoader worker (pid(s) 884) exited unexpectedly\n",
        6,
    ),
)

SILENT = (
    "Traceback (most recent call last):\n"
    '  File "/env/torch/multiprocessing/reductions.py", line 541, in rebuild_storage_fd\n'
    "RuntimeError: received 0 items of ancdata\n",
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: DataLoader "
    "worker (pid 7) is killed by signal: Bus error. \n"
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n",
)
