FIRES = (
    "gpu-node-01: [W1120 23:27:05.448 socket.cpp:207] [c10d] The hostname of "
    "the client socket cannot be retrieved. err=-3\n"
    "gpu-node-01: [2026-11-20 23:27:10] [rank0] step 7 loss 2.8500 lr 1e-4\n",
    "[W socket.cpp:601] [c10d] The client socket has failed to connect to [localhost]:29500 (errno: 99).\n"
    "{'loss': 2.31, 'grad_norm': 0.7, 'learning_rate': 1e-05, 'epoch': 0.1}\n",
)

SILENT = (
    "the loss is nan after step 20\n",
    "[rank0] step 7 loss 2.85\n[rank0]: Traceback (most recent call last):\n[rank0]: KeyError: 'labels'\n",
)
