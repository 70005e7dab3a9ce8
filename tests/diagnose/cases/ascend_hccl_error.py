FIRES = (
    "[rank2]: Traceback (most recent call last):\n"
    "[rank2]: RuntimeError: [ERROR] HCCL error in: "
    "torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64. ERR02200 DIST call hccl api failed.\n",
    "[ERROR] EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.\n",
)

SILENT = ("INFO: HCCL version 8.0 is used\nstep 1 loss 2.0\n",)
