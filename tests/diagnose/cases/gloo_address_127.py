FIRES = (
    "gpu-node-02: Traceback (most recent call last):\n"
    "gpu-node-02: RuntimeError: Gloo connectFullMesh failed with "
    "[gloo/transport/tcp/pair.cc:152] timed out connecting: "
    "SO_ERROR: Connection refused, remote=[127.0.1.1]:15262$3\n",
    "RuntimeError: [pair.cc:799] connect [127.0.1.1]:36243: Connection refused\n",
)

SILENT = (
    "[rank2]: Traceback (most recent call last):\n"
    "[rank2]: RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:6784\n",
    "RuntimeError: [pair.cc:799] connect [127.0.0.1]:36243: Connection refused\n",
)
