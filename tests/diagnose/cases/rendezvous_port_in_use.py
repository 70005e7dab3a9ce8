FIRES = (
    "Traceback (most recent call last):\n"
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
    "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n",
    "Traceback (most recent call last):\nRuntimeError: Address already in use\n",
    "Address in use error with four nodes\n",
    "The port 29500 is already used by another training, so it refuses to start\n",
)

SILENT = (
    "[W socket.cpp:426] [c10d] The server socket has failed to bind to "
    "[::]:29500 (errno: 98 - Address already in use).\n"
    + "".join(f"[rank0] step {n} loss 3.0\n" for n in range(20)),
)
