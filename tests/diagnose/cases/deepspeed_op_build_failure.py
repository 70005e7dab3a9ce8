FIRES = (
    "RuntimeError:\n      The detected CUDA version (12.1) mismatches the version that was used to compile\n"
    "      PyTorch (12.8). Please make sure to use the same CUDA versions.\n",
    "cc1plus: fatal error: cuda_runtime.h: No such file or directory\ncompilation terminated.\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: Error building extension 'cpu_adam'\n"
    "Exception ignored in: <function DeepSpeedCPUAdam.__del__>\n"
    "AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: "
    "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed "
    "Op Builder: Installed CUDA version 12.4 does not match the version torch was compiled with 11.8\n",
    "[1/2] c++ -c /e/cpu_adam.cpp -o cpu_adam.o\nFAILED: cpu_adam.o\n",
    'Traceback (most recent call last):\n  File "/e/torch/utils/cpp_extension.py", line 9, in _run_ninja_build\n'
    "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.\n",
    "/usr/bin/ld: cannot find /tmp/b/deepspeed_7/csrc/adam/fused_adam_frontend.o: No such file or directory\n",
    "error: #error -- unsupported GNU version! gcc versions later than 11 are not supported!\n",
    "/usr/bin/ld: a.o: in function go: undefined reference to `nvrtcCreateProgram'\n",
    "[BUG] RuntimeError: Error building extension 'fused_adam' Loading it... Traceback (most recent call last):\n",
)

SILENT = (
    "Installed CUDA version 12.4 does not match the version torch was compiled "
    "with 12.1 but since the APIs are compatible, "
    "accepting this combination\n[rank0] step 1 loss 3\n",
)
