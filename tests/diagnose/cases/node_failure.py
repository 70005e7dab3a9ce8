FIRES = (
    "The node with client ID 58165 has been marked dead because the monitor has missed too many "
    "heartbeats from it.\n",
    "srun: error: Node failure on gpu-node-07\n"
    "slurmstepd: error: *** JOB 4242 ON gpu-node-01 CANCELLED AT 2026-11-20T03:04:05 "
    "DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***\n",
    "Node 10.0.0.7 is marked dead in the middle of the run\n",
    "Three machines went to NotReady overnight\n",
)

SILENT = (
    "slurmstepd: error: *** JOB 4242 ON gpu-node-01 CANCELLED AT 2026-11-20T03:04:05 DUE TO TIME LIMIT ***\n",
)
