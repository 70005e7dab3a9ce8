FIRES = (
    "HW Exception by GPU node-9 (Agent handle: 0x631351bb5a20) reason :GPU Hang\n",
    'An error encountered: "invalid device function" at src/sort/main.hip:204\n',
    "2026-07-19 22:08:36.875173: F ./core/gpu_launch_config.h:174] Check failed: err == hipSuccess (98 vs. 0)\n"
    "run.sh: line 36:    14 Aborted                 (core dumped) python3 train.py\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: RuntimeError: HIP error: invalid device function\n",
    "Memory access fault by GPU node-4 (Agent handle: 0x55d1) on address 0x7f0000. Reason: Unknown.\n",
    "RuntimeError: hipErrorIllegalAddress: an illegal memory access was encountered\n",
    ("ROCm error: invalid device function\n  current device: 1, in function compute\n"),
    "tensorflow: No device code available for function Eigen_kernel\n",
    "error: the code object for gfx90a could not be found\n",
)

SILENT = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.\n",
)
