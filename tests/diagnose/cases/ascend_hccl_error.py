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
    "[Error]: there are(is) 1 abnormal device(s):\n"
    "Cluster Exception Location[IP/ID]:[10.0.0.46/1], Discoverer:[10.0.0.46/0], ExceptionType:[Heartbeat Lost]\n",
    (
        "[error] [runner.cpp:69] get hccl comm failed: HcclCommInitRootInfo\n"
        "[error] [runner.cpp:127] HcclRunner:0 init fail, error:2, rank:1, rankSize:4\n",
        1,
    ),
)

SILENT = (
    "INFO: HCCL version 8.0 is used\nstep 1 loss 2.0\n",
    "RuntimeError: habana hccl init failed with error 3\n",
)
