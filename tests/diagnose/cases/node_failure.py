FIRES = (
    "The node with client ID 58165 has been marked dead because the monitor has missed too many "
    "heartbeats from it.\n",
    "srun: error: Node failure on gpu-node-07\n"
    "slurmstepd: error: *** JOB 4242 ON gpu-node-01 CANCELLED AT 2026-11-20T03:04:05 "
    "DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***\n",
    "Node 10.0.0.7 is marked dead in the middle of the run\n",
    "Three machines went to NotReady overnight\n",
    "WARN Master: Removing worker-20240311-10.0.0.2-45720 because we got no heartbeat in 60 seconds\n",
    "The VM of worker 3 was reclaimed and the job interrupted\n",
    "\u8282\u70b9\u6389\u7ebf\uff0c\u8bad\u7ec3\u4efb\u52a1\u88ab\u4e2d\u65ad\n",
    "NODELIST NODES PARTITION STATE CPUS REASON\n"
    "c-1 1 main* down* 12 Not responding\n"
    "c-2 1 main* down* 12 Not responding\n",
    "The task failed because the node it was running on is dead or unavailable.\n",
)

SILENT = (
    "slurmstepd: error: *** JOB 4242 ON gpu-node-01 CANCELLED AT 2026-11-20T03:04:05 DUE TO TIME LIMIT ***\n",
)
