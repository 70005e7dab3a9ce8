FIRES = (
    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n",
    "=>> PBS: job killed: walltime 86437 exceeded limit 86400\n",
    "slurmstepd: error: *** JOB 4242 ON gpu-node-01 CANCELLED AT 2026-11-20T03:04:05 DUE TO TIME LIMIT ***\n"
    "slurmstepd: error: *** STEP 4242.0 ON gpu-node-01 CANCELLED AT 2026-11-20T03:04:05 DUE TO TIME LIMIT ***\n",
    "Pod was active on the node longer than the specified deadline\n",
    "The spot interruption came at noon\n",
    "The job was canceled since it took longer than the maximum time of 60 minutes\n",
)

SILENT = ("srun: error: Node failure on gpu-node-07\n",)
