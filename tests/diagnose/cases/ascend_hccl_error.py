FIRES = (
    (
        "RuntimeError: [ERROR] HCCL error in: ProcessGroupHCCL.cpp:64\n"
        "[ERROR] 2026-05-21-11:57:54 (PID:927, Device:6, RankID:6) ERR02200 DIST call hccl api failed.\n"
        "EJ0001: 2026-05-21-11:57:54.167.645 Failed to initialize the HCCP process.\n",
        6,
    ),
    "[rank2]: Traceback (most recent call last):\n"
    "[rank2]: RuntimeError: [ERROR] HCCL error in: "
    "torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64. ERR02200 DIST call hccl api failed.\n",
    "[ERROR] EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.\n",
    "昇腾910b 多卡训练报错\n",
)

SILENT = (
    "INFO: HCCL version 8.0 is used\nstep 1 loss 2.0\n",
    "RuntimeError: habana hccl init failed with error 3\n",
)
