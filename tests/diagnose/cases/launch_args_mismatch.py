_JOINED = (
    "Traceback (most recent call last):\n"
    "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/{} clients joined.\n"
)

_LATE = (
    "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 12000ms for recv operation\n"
)


def _waits(*others: int) -> str:
    """A process waits for rank 3, these others already work together."""
    waits = "torch.distributed.DistStoreError: wait timeout after 12000ms, keys: /default_pg/0//cpu//0/3\n"
    raised = "".join(f"[rank{n}]: Traceback (most recent call last):\n[rank{n}]: {_LATE}" for n in others)
    return f"node-1: Traceback (most recent call last):\nnode-1: {waits}{raised}"


_UNFIT = "RuntimeError: [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 564 vs 488\n"


def _layers(*numbers: int) -> str:
    commands = "".join(f"+ RANK={rank} python fit.py --layers {n}\n" for rank, n in enumerate(numbers))
    return commands + "[rank0]: Traceback (most recent call last):\n[rank0]: " + _UNFIT


FIRES = (
    "MisconfigurationException: You requested gpu: [0, 1]\n But your machine only has: [0]\n",
    "Traceback (most recent call last):\n"
    "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/16 clients joined.\n",
    "usage: run.py [-h] [--nnodes NNODES] training_script ...\n"
    "run.py: error: ambiguous option: --node could match --node-rank, --node_rank\n",
    "node1: [rank0] init_process_group backend=nccl world_size=8 master=node1:29500\n"
    "node2: [rank8] init_process_group backend=nccl world_size=16 master=node1:29500\n"
    "node2: Traceback (most recent call last):\n"
    "node2: torch.distributed.DistStoreError: Timed out after 601 seconds "
    "waiting for clients. 9/16 clients joined.\n",
    _JOINED.format(8),
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: Hostfile c'
    "ontains a bad entry: node1, unable to proceed\n",
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nMissingEnvironmentErro'
    "r: environment variable NODE_RANK is not set.\n",
    "There are not enough slots available in the system to satisfy the 3\nslots that were requested\n",
    "Open MPI: not enough slots, it cannot start\n",
    "ValueError: 16 processes exceed the total slots of all hosts\n",
    "RuntimeError: cannot determine the local rank of this process\n",
    "Waiting in store based barrier for rank: 1 (world_size=4, worker_count=7, timeout=0:30:00)\n",
    "The strategy cannot start with my TF_CONFIG\n",
    "It seems the number of processes was not set on the second machine\n",
    "All nodes which are allocated for this job are already filled.\n",
    (
        "n2:1:1 [1] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>\n"
        "n1:7:9 [0] bootstrap.cc:128 NCCL WARN Bootstrap Root : rank 1 of 8 ranks has already checked in\n",
        1,
    ),
    (_waits(0, 2), 1),
    (_layers(4, 6, 4), 1),
)

SILENT = (
    "node1: [rank0] init_process_group backend=nccl world_size=16\nnode2: [rank8] init world_size=16\n"
    "Traceback (most recent call last):\n"
    "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.\n",
    _JOINED.format(7),
    _waits(0),
    _waits(0, 2, 3),
    _layers(4, 4, 4),
    "Waiting in store based barrier for rank: 1 (world_size=4, worker_count=3, timeout=0:30:00)\n",
    "KeyError: 'x'\nI can ping the MASTER_ADDR of the head\n",
)
