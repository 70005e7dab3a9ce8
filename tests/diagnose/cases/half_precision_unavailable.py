FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: ValueError: fp16 mixed precision requires a GPU (not 'cpu').\n",
    "ptxas kernel.ptx, line 7; error: Feature '.bf16' requires .target sm_80 or higher\n",
    "RuntimeError: torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0\n",
    "AssertionError: Device compute capability 8.9 or higher required for FP8 execution.\n",
    "# ValueError: FP16 Mixed precision training with AMP or APEX (`--fp16`) and FP16 half precision "
    "evaluation can only be used on CUDA devices.\n",
    "2080Ti 不支持 bf16 训练\n",
)

SILENT = ("[deepspeed] fp16 dynamic loss scale: 65536\nstep 1 loss 2.0\n",)
