FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling "
    "`cublasGemmEx`\n",
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: cublas runtim'
    "e error : the GPU program failed to execute at THCBlas.cu:450\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
    "`cublasCreate(handle)`\n",
)
