FIRES = (
    "subprocess.CalledProcessError: Command '['triton/bin/ptxas', '/tmp/a.ptx']' returned non-zero "
    "exit status 255.\n",
    "RuntimeError: Triton Error [CUDA]: device kernel image is invalid\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: "
    "180224, Hardware limit: 166912\n",
    (
        "[rank2]: Traceback (most recent call last):\n[rank2]: subprocess.CalledProcessError: Command "
        "'['g++', '/tmp/torchinductor_u/a/b.cpp', '-D', 'X']' returned non-zero exit status 1.\n",
        2,
    ),
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: Backend compile failed: Invalid\n',
    "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmp1/main.c', '-O3', '-shared', '-o', "
    "'/tmp/tmp1/cuda_utils.so', '-lcuda']' returned non-zero exit status 1.\n",
    (
        "/usr/bin/ld: cannot find -lcuda: No such file or directory\n"
        "collect2: error: ld returned 1 exit status\n"
    ),
    "AssertionError: libcuda.so cannot found!\n",
    "FSDP causes a graph break in forward, the error goes away without torch.compile\n",
    "cuda_utils.c(12): fatal error C1083: Cannot open include file: Python.h: No such file or directory\n",
    "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: ptxas exited with non-zero error code 256, output:\n",
    "XlaRuntimeError: INTERNAL: No PTX compilation provider is available. Neither ptxas/nvlink nor nvjtlink "
    "is available.\n",
    "LLVM ERROR: Failed to compute parent layout for slice layout.\n",
    "# Training crashes with torch.compile: Triton kernel error\n",
    "Error: the recompilation limit was reached\n",
)

SILENT = (
    "torch.compile took 12 s\nstep 1 loss 2.0\n",
    "Error: nvcc not found\n",
    ("#!/bin/bash\n# Training crashes with torch.compile: Triton kernel error\n"),
)
