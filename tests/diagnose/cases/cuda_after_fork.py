FIRES = (
    "RuntimeError: Lightning can't create new processes if CUDA is already initialized.\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: Cannot re-initialize CUDA in forked subprocess.\n",
    "numba.cuda.cudadrv.error.CudaDriverError: CUDA initialized before forking\n",
    "[Bug] cannot re-initialize cuda in forked subprocess\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.\n",
)
