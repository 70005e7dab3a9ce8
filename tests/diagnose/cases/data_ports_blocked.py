FIRES = (
    "node2:10:20 [0] socket.cc:540 NCCL WARN Net : Connection to 10.0.0.3<41234> failed : No route to host\n",
    "RuntimeError: [/b/gloo/transport/tcp/pair.cc:611] Connect timeout [172.17.27.13]:27023\n",
    "gpu-node-02: [2026-11-20 23:17:20] [rank2] init_process_group backend=gloo world_size=4\n"
    "gpu-node-02: RuntimeError: Gloo connectFullMesh failed with "
    "[gloo/transport/tcp/pair.cc:152] timed out connecting: "
    "SO_ERROR: No route to host, remote=[10.20.0.11]:45482$3\n",
    "node1:11:12 [0] NCCL INFO comm 0x55 rank 0 nranks 16 cudaDev 0 - Init START\n"
    "node1:11:12 [0] misc/socket.cc:452 NCCL WARN socketStartConnect: Connect "
    "to 10.0.0.2<41235> failed : No route to host\n",
    "w-0:16:63 [0] NCCL INFO Call to connect returned Connection refused, retrying\n" * 3,
    "NCCL WARN Call to connect timeout : Connection refused\n",
    "The Gloo library cannot communicate between two machines\n",
)

SILENT = (
    "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:152] timed out connecting: SO_ERROR: "
    "Connection refused, remote=[127.0.1.1]:15262$3\n",
)
