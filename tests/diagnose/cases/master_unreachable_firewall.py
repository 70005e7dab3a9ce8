FIRES = (
    "[W socket.cpp:663] [c10d] The client socket has failed to connect to [::ffff:10.0.0.9]:29500 "
    "(errno: 110 - Connection timed out).\n",
    "gpu-node-02: [E1120 23:15:38.692 socket.cpp:818] [c10d] The client socket has failed to connect to any network "
    "address of (gpu-node-01, 29500).\n"
    "gpu-node-02: Traceback (most recent call last):\n"
    "gpu-node-02: torch.distributed.DistNetworkError: The client socket "
    "has failed to connect to any network address of "
    "(gpu-node-01, 29500). The client socket has failed to connect to "
    "10.0.0.1:29500 (errno: 113 - No route to host).\n",
    "node-1: Traceback (most recent call last):\n"
    "node-1: torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined.\n"
    "node-2: Traceback (most recent call last):\n"
    "node-2: torch.distributed.DistNetworkError: The client socket has "
    "timed out after 60000ms while trying to connect "
    "to (node-1, 29500).\n",
    "Connection timed out on the second node\nTraceback (most recent call last):\n"
    '  File "/u/train.py", line 8, in main\n    start(args)\n  File "/u/start.py", line 9, in start\n',
    "Cannot connect to the head\nWith three nodes and num_nodes=3 this happens:\n",
    "E0120 11:12:13.456789 77 client.cc:119] param fc.w to 10.1.2.3:6174: Connect Failed\n",
    "OSError: [Errno 113] No route to host\n",
)

SILENT = (
    "[W socket.cpp:601] [c10d] The client socket has failed to connect to "
    "[localhost]:29500 (errno: 99 - Cannot assign "
    "requested address).\n" + "".join(f"[rank0] step {n} loss 3.0\n" for n in range(20)),
    "Cannot connect to server socket err = No such file or directory\njack server is not running\n",  # on this machine
)
