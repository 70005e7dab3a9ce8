FIRES = (
    "May 27 16:50:10 node4 kernel: NVRM: GPU 0000:09:00.0: RmInitAdapter failed! (0x22:0x56:894)\n",
    "[1234.5] NVRM: Xid (PCI:0000:c1:00): 79, pid=41877, GPU has fallen off the bus.\n",
    "[rank3]: Traceback (most recent call last):\n[rank3]: RuntimeError: "
    "CUDA error: uncorrectable ECC error encountered\n",
    "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)\n",
    "[ 77.1] i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:85dcfdfb, in python\n",
    "NVML: GPU is in a bad state after a row remapping failure\n",
    "pynvml.NVMLError_GpuIsLost: gone\n",
)

SILENT = (
    "[1234.5] NVRM: Xid (PCI:0000:c1:00): 31, pid=41877, MMU Fault\n"
    "[rank3]: Traceback (most recent call last):\n[rank3]: RuntimeError: "
    "CUDA error: an illegal memory access was encountered\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: CUDA error: invalid argument\n",
)
