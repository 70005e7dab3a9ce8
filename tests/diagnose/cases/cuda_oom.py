FIRES = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB\n",
    "errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[32,512] and type float\n",
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
    "allocate 42 bytes.\n",
    "[rank5]: Traceback (most recent call last):\n"
    "[rank5]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
    "allocate 448.00 MiB (GPU 5; 79.15 GiB total)\n"
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error\n",
    "RuntimeError: level_zero backend failed with error: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)\n",
    "RuntimeError: MPS backend out of memory (MPS allocated: 17 GB)\n",
    "SFT OOM on 8xA100\n",
    (
        "# 训练时爆OOM\n"
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 7) of "
        "binary: /env/bin/python\n"
    ),
    "training OOMs on the second epoch\n",
    (
        "[1,2]<stderr>:Traceback (most recent call last):\n"
        "[1,2]<stderr>:MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /u/mr.hpp:6: "
        "cudaErrorMemoryAllocation out of memory\n",
        2,
    ),
)

SILENT = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0. Some of the step tasks have been OOM Killed.\n",
    "the job was OOM-killed by slurm\n",
    "INFO set expandable_segments to avoid OOM\n",
    "Avoiding OOM with FSDP\n",
)
