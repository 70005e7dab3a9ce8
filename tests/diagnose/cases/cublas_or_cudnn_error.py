FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling "
    "`cublasGemmEx`\n",
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: cublas runtim'
    "e error : the GPU program failed to execute at THCBlas.cu:450\n",
    "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (8, 7, 0) but found runtime "
    "version (8, 5, 0).\n",
    "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.2.4. CuDNN library needs to have "
    "matching major version.\n",
    "Exception: cublasLt ran into an error!\n",
    "OSError: (External) CUBLAS error(1).\n",
    "PaddleCheckError: CUBLAS: not initialized, at cuda_helper.h:32\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
    "`cublasCreate(handle)`\n",
)
