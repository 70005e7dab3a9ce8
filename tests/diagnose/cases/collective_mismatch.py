_DETAIL = (
    "[rank{a}]: Traceback (most recent call last):\n[rank{a}]: RuntimeError: "
    "Detected mismatch between collectives on "
    "ranks. Rank {a} is running collective: CollectiveFingerPrint(SequenceNumber=4, "
    "OpType=ALLREDUCE, TensorShape=[{x}], "
    "TensorDtypes=Float), but Rank {b} is running collective: "
    "CollectiveFingerPrint(SequenceNumber=4, OpType=ALLREDUCE, "
    "TensorShape=[{y}], TensorDtypes=Float).Collectives differ in the following aspects: Tensor shapes\n"
)

FIRES = (
    "Exception: Unable to unpickle data from other workers. all_gather_list requires all workers to enter the function "
    "together\n",
    _DETAIL.format(a=0, x=1024, b=3, y=1000) + _DETAIL.format(a=1, x=1024, b=3, y=1000),
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: DDP "
    "expects same model across all ranks, but Rank 1 "
    "has 12 params, while rank 0 has inconsistent 10 params.\n",
    "Traceback (most recent call last):\naccelerate.utils.operations.DistributedOperationException: shapes differ\n",
    "E ring_alg.cc:9] Aborting RingGather with Invalid argument: Collective ops is aborted by: "
    "Shape mismatch in the collective instance 7. Op at device /job:worker/task:1 expected shape "
    "[3] but another member expected shape [4].\n",
)

SILENT = (
    "[rank1]: [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=81, OpType=ALLREDUCE, NumelIn=4)\n"
    "[rank2]: [Rank 2] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=81, OpType=ALLREDUCE, NumelIn=4)\n",
)
