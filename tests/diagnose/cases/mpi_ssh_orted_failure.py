FIRES = (
    "A process or daemon was unable to complete a TCP connection\nto another process:\n  Local host:    a1\n",
    "ssh: connect to host 10.0.0.3 port 22: Connection refused\n"
    "--------------------------------------------------------------------------\n"
    "ORTE was unable to reliably start one or more daemons.\n",
    "bash: orted: command not found\n",
)

SILENT = (
    "ssh: connect to host 10.0.0.3 port 22: Connection refused\n",
    "Open MPI: not enough slots, it cannot start\n",
)
