FIRES = (
    "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)\n",
    "gpu-node-02: RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:152] timed out "
    "connecting: SO_ERROR: Connection refused, remote=[172.17.0.1]:15262$3\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:84] ifa != nullptr. "
    "Unable to find address for: ^lo\n",
    "node1:77:77 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to ib0\n"
    "node1:77:77 [0] misc/socket.cc:474 NCCL WARN Bootstrap : no socket interface found\n",
    "ncclCommInitRank failed\nsocket.h:12 WARN a socket could not be made: address family not supported\n",
    "connect() to 172.17.0.1 failed: Connection refused (111)\n",
)

BRIDGE = "node{0}:77:77 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
FAILS = "node1: [rank0]: RuntimeError: NCCL error: unhandled system error\n"

FIRES += (BRIDGE.format(1) + BRIDGE.format(2) + FAILS,)

SILENT = (
    # On one machine it is right, and on several it proves nothing as long as nothing failed.
    BRIDGE.format(1) + FAILS,
    BRIDGE.format(1) + BRIDGE.format(2) + "node1: [rank0] step 10 loss 2.1\n",
    "node1:77:77 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\nnode1: [rank0] step 10 loss 2.1\n",
    "gpu-node-02: RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:152] timed out "
    "connecting: SO_ERROR: No route to host, remote=[10.20.0.11]:45482$3\n",
)
