FIRES = (
    "[rank0] loading Mixtral-8x7B with ZeRO stage 3\n[rank0] step 1 loss 2.0\n"
    "[rank1]:[E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=2081, "
    "OpType=_ALLGATHER_BASE, NumelIn=917504, NumelOut=7340032, Timeout(ms)=600000) ran for 600777 milliseconds\n",
)

SILENT = (
    "[rank0] loading Llama-8B with ZeRO stage 3\n"
    "[rank1]:[E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=2081, "
    "OpType=_ALLGATHER_BASE, NumelIn=917504, NumelOut=7340032, Timeout(ms)=600000) ran for 600777 milliseconds\n",
)
