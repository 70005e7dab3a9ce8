FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: synStatus=8 [Device not found] Device acquire failed.\n",
    "HCCL demo error: In function initDevice(): synDeviceAcquire(&handle, nullptr) failed with synapse error: 20\n",
    "[Rank:0] FATAL ERROR :: MODULE:PT_DEVICE GRAPH:: Capture must end on the same stream\n"
    "[Rank:0] Habana exception raised from mark_step\n",
)

SILENT = ("INFO: Synapse device found, hl-smi 1.19\nstep 1 loss 2.0\n",)
