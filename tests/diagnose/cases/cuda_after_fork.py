FIRES = (
    "RuntimeError: Lightning can't create new processes if CUDA is already initialized.\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: Cannot re-initialize CUDA in forked subprocess.\n",
    "numba.cuda.cudadrv.error.CudaDriverError: CUDA initialized before forking\n",
    "[Bug] cannot re-initialize cuda in forked subprocess\n",
    "RuntimeError: CUDA error: initialization error\n",
    "RuntimeError: cuda runtime error (3) : initialization error at THCGeneral.cpp:55\n",
    "RuntimeError: Cannot re-initialize XPU in forked subprocess. To use XPU with multiprocessing, you must "
    "use the 'spawn' start method\n",
    "RuntimeError: CUDA has been initialized before the `notebook_launcher` could create a forked subprocess.\n",
    "failed to get the device: CUDA_ERROR_NOT_INITIALIZED: initialization error\n",
    "THCudaCheck FAIL file=THCGeneral.cpp line=50 error=3 : initialization error\n",
    "LogicError: cuInit failed: initialization error\n",
    "Error: cannot use CUDA after fork\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.\n",
    "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 3: initialization error\n",
)
