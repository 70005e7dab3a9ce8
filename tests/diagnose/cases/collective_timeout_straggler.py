def _silent(count: int) -> str:
    """The first `count` of seven ranks say nothing while the others wait."""
    return "".join(f"[rank{r}] init world_size=7\n" for r in range(7)) + "".join(
        f"[rank{r}]: Traceback (most recent call last):\n"
        f"[rank{r}]: RuntimeError: [gloo/x.cc:78] Timed out waiting 12000ms for recv operation to complete\n"
        for r in range(count, 7)
    )


def _waits(*ranks: int) -> str:
    return "".join(
        f"[E ProcessGroupNCCL.cpp:607] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=61, "
        "OpType=BROADCAST, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.\n"
        for r in ranks
    )


FIRES = (
    (
        "[rank3]: Traceback (most recent call last):\n"
        "[rank3]: torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId "
        "from [1] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout\n",
        1,
    ),
    ("[1,0]<stderr>:Stalled ops:HorovodBroadcast_dense_1_bias_0 [missing ranks: 1]\n", 1),
    "{'train_runtime': 119.8, 'train_loss': 1.2, 'epoch': 2.57}\n"
    "[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=2778, OpType=_ALLGATHER_BASE, Timeout(ms)=1800000) ran for 1801649 "
    "milliseconds before timing out.\n"
    "terminate called after throwing an instance of 'std::runtime_error'\n",
    "".join(f"[rank{r}] init world_size=4\n[rank{r}] process group ready\n" for r in range(4))
    + "[rank2] evaluating on the full validation set\n"
    + "".join(
        f"[rank{r}]: Traceback (most recent call last):\n"
        f"[rank{r}]: RuntimeError: [gloo/x.cc:78] Timed out waiting 12000ms for recv operation to complete\n"
        for r in (0, 1, 3)
    ),
    "[rank1]:[E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=812, "
    "OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) "
    "ran for 600123 milliseconds before timing out.\n",
    (_silent(4), 0),
    (_silent(5), None),  # too many to blame one, and those that waited are not to blame
    "[0]<stderr>: W stall_inspector.cc:105] One or more tensors were submitted to be reduced by a subset of the ranks "
    "for more than 60 seconds.\n",
    "NCCL on two hosts hangs in docker\n",
    "\u591a\u673a\u8bad\u7ec3\u4e00\u76f4\u5361\u5728 all_reduce\n",
    "RuntimeError: TP rank 0 could finish the model loading, but there are other ranks that didn't\n",
    (_waits(1, 3, 2), 0),  # the only number that is missing, though no line tells the world size
    (_waits(1, 2), None),  # of so few, others may be missing too
    (_waits(1, 2, 5), None),
    ("Stalled ops: HorovodBroadcast_w_0 [ready ranks: 4, 0, 1, 3]\n", 2),
    (
        "Traceback (most recent call last):\n"
        "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting for send/recv "
        "from rank 0. Please check rank 0 logs for faulty rank.\n"
        "[/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 30000ms for send operation to complete\n",
        0,
    ),
    # The log's last line is cut in the name of the operation, which is not another one then.
    "".join(_waits(1, 0, 2))
    + "[E ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=61, "
    "OpType=BROADC",
    (
        "W stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or broadcasted by "
        "subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
        "Missing ranks:\n1: [cond/HorovodAllreduce_a_0, cond/HorovodAllreduce_b_0]\n",
        1,
    ),
    ("Not all ranks joining collective, sequence number: 7\ninternal record id: 9\nmissing ranks: {3}\n", 3),
)

SILENT = (
    "[rank0] step 1 loss 3.0\n[rank1] step 1 loss 3.0\n",
    "error: input types 'tensor<64x1xf32>' and 'tensor<64x8xsi64>' are not broadcast compatible\n",
)
