FIRES = (
    "srun: error: Node failure on gpu-node-07\n"
    "slurmstepd: error: *** JOB 4242 ON gpu-node-01 CANCELLED AT 2026-11-20T03:04:05 "
    "DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***\n",
)

SILENT = (
    "slurmstepd: error: *** JOB 4242 ON gpu-node-01 CANCELLED AT 2026-11-20T03:04:05 DUE TO TIME LIMIT ***\n",
)
