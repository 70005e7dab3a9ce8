FIRES = (
    "gpu-node-02: [W1120 23:18:52.985 socket.cpp:764] [c10d] The IPv6 network "
    "addresses of (gpu-node-01, 29500) cannot be "
    "retrieved (gai error: -3 - Temporary failure in name resolution).\n"
    "gpu-node-02: Traceback (most recent call last):\n"
    "gpu-node-02: torch.distributed.DistNetworkError: The client socket has timed out after 20000ms while trying to "
    "connect to (gpu-node-01, 29500).\n",
    "The host name of the head was not resolved on three nodes\n",
    "connecting to n7 failed: [Errno -3] Temporaerer Fehler bei der Namensaufloesung\n",
)

SILENT = (
    "gpu-node-01: [W1120 23:27:05.448 socket.cpp:207] [c10d] The hostname of "
    "the client socket cannot be retrieved. err=-3\n"
    "gpu-node-01: [rank0] step 1 loss 3.15\n",
)
