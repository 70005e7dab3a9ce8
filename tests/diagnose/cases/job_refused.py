FIRES = (
    "srun: error: Unable to create step for job 812: Memory required by task is not available\n",
    "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n",
    "srun: error: Task launch for StepId=36.0 failed on node gpu-7: Invalid job credential\n",
    'error: unable to recognize "job.yaml": no matches for kind "PyTorchJob" in version "kubeflow.org/v1"\n',
    "Warning  UnexpectedAdmissionError  kubelet  Allocate failed due to requested number of devices\n",
    "ValueError: Not enough GPUs available. 16 wanted, 8 are in the cluster.\n",
    "TuneError: No trial resources are available for the actor\n",
    "worker-0   0/1   OutOfmemory   0   1s\n",
    "Message: Pod Node didn't have enough resource: nvidia.com/gpu\n",
    "error: slurm_persist_conn_open_without_init: failed to open a connection to host:head:6819: Connection refused\n",
    "RuntimeError: Request failed with status code 500: No available agent to submit job, please try again later..\n",
)

SILENT = (
    "srun: error: Unable to create step for job 812: Job/step already completing or completed\n",
    "srun: job 812 queued and waiting for resources\nsrun: job 812 has been allocated resources\nstep 1 loss 2.1\n",
)
