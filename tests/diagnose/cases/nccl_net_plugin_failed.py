FIRES = (
    "ip-10-0-1-7:4121:4177 [3] ofi_process_cq:1030 NCCL WARN NET/OFI Request 0x7f12 completed "
    "with error. RC: 113. Error: unreachable remote\n",
)

SILENT = ("ip-10-0-1-7:4121:4177 [3] NCCL INFO NET/OFI Selected Provider is efa\nstep 1 loss 2.0\n",)
