FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling "
    "`cublasGemmEx`\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
    "`cublasCreate(handle)`\n",
)
