FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: synStatus=8 [Device not found] Device acquire failed.\n",
    "HCCL demo error: In function initDevice(): synDeviceAcquire(&handle, nullptr) failed with synapse error: 20\n",
    "[Rank:0] FATAL ERROR :: MODULE:PT_DEVICE GRAPH:: Capture must end on the same stream\n"
    "[Rank:0] Habana exception raised from mark_step\n",
    (
        "(RayTrainWorker pid=7) what(): Collective call returned error\n"
        "(RayTrainWorker pid=7) Exception raised from operator() at "
        "/npu-stack/habana_frameworks/torch/distributed/hccl/process_group_hccl_base.cpp:286\n"
    ),
    "RuntimeError: collective nonSFG is not supported during hpu graph capturing\n",
    "kernel: habanalabs 0000:b3:00.0: hl2: device is going to hard-reset\n",
    "hcl_tcp_utils.cpp::recvAllFromSocket(134): The condition [ res > 0 ] failed. socket error\n",
)

SILENT = ("INFO: Synapse device found, hl-smi 1.19\nstep 1 loss 2.0\n",)
