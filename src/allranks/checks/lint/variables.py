"""Environment variables: which program reads each, and its effect.

The names of NCCL and torch are those that `strings` finds in the libraries of NCCL 2.32.3 and torch 2.15.0. If a node
has sent the names in its own libraries (`libraries.variables`), those decide.
"""

from __future__ import annotations

from collections.abc import Collection

from allranks.checks.lint.line import COSTLY, DROPPED, SET, VOID, Line, nearest
from allranks.spec.validate import SET_BY_TORCHRUN

KNOWN: dict[str, str] = {
    "CUDA_VISIBLE_DEVICES": "CUDA: the GPUs that a process sees, and their order",
    "CUDA_DEVICE_ORDER": "CUDA: PCI_BUS_ID numbers GPUs as nvidia-smi does",
    "CUDA_LAUNCH_BLOCKING": "CUDA: waits for each kernel: for debugging",
    "CUDA_HOME": "torch, DeepSpeed: the folder of CUDA's compiler (nvcc), for operators that are compiled",
    "CUDA_MODULE_LOADING": "CUDA: LAZY loads kernels when they are first used",
    "CUBLAS_WORKSPACE_CONFIG": "cuBLAS: memory of matrix products; makes them deterministic",
    "OMP_NUM_THREADS": "OpenMP: threads of each rank on the processor",
    "MKL_NUM_THREADS": "MKL: threads of each rank's matrix library",
    "TOKENIZERS_PARALLELISM": "tokenizers: whether tokenizing uses several threads",
    "PYTHONPATH": "Python: the folders that it searches first for modules",
    "PYTHONUNBUFFERED": "Python: logs appear at once",
    "PYTHONFAULTHANDLER": "Python: prints stacks when a rank crashes",
    "LD_LIBRARY_PATH": "the loader: the folders that it searches first for shared libraries",
    "PYTORCH_CUDA_ALLOC_CONF": "torch: how torch's allocator uses the GPU's memory",
    "PYTORCH_ALLOC_CONF": "torch: how torch's allocator uses memory (its name since torch 2.9)",
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "torch: asks CUDA for every allocation: for debugging, slow",
    "TORCH_DISTRIBUTED_DEBUG": "torch: checks and logs collectives",
    "TORCH_SHOW_CPP_STACKTRACES": "torch: C++ stacks in errors",
    "TORCH_CPP_LOG_LEVEL": "torch: C++ log level",
    "TORCH_LOGS": "torch: logs of the compiler",
    "TORCH_EXTENSIONS_DIR": "torch: the folder of compiled operators",
    "TORCH_CUDA_ARCH_LIST": "torch, DeepSpeed: for which GPUs operators are compiled",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "torch: ends a rank whose collective fails or times out (on by default)",
    "TORCH_NCCL_BLOCKING_WAIT": "torch: the program waits for each collective on the processor",
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "torch: how many collectives the flight recorder keeps",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "torch: writes the flight recorder when a collective times out",
    "TORCH_FR_BUFFER_SIZE": "torch: how many collectives the flight recorder keeps",
    "TORCH_FR_DUMP_TEMP_FILE": "torch: the file that the flight recorder writes",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "torch: the file that the flight recorder writes",
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "torch: after how long a stuck watchdog ends the rank",
    "TORCH_NCCL_ENABLE_MONITORING": "torch: watches NCCL's watchdog",
    "TORCH_NCCL_DESYNC_DEBUG": "torch: names the rank that is behind at a time-out",
    "TORCH_NCCL_AVOID_RECORD_STREAMS": "torch: less memory held by collectives (default since torch 2.8)",
    "TORCH_NCCL_HIGH_PRIORITY": "torch: NCCL's streams before others",
    "TORCH_NCCL_NAN_CHECK": "torch: looks for NaN before each collective",
    "TORCH_NCCL_ENABLE_TIMING": "torch: times each collective",
    "GLOO_SOCKET_IFNAME": "gloo: the interface it listens on: one exact name",
    "NCCL_SOCKET_IFNAME": "NCCL: interfaces for its rendezvous and TCP: prefixes, = exact, ^ without",
    "NCCL_SOCKET_FAMILY": "NCCL: AF_INET or AF_INET6",
    "NCCL_SOCKET_NTHREADS": "NCCL: threads per TCP connection",
    "NCCL_NSOCKS_PERTHREAD": "NCCL: sockets per thread over TCP",
    "NCCL_IB_DISABLE": "NCCL: 1: no InfiniBand or RoCE",
    "NCCL_IB_HCA": "NCCL: which InfiniBand devices: prefixes, = exact, ^ without",
    "NCCL_IB_GID_INDEX": "NCCL: which address of a RoCE port; chosen by itself since 2.21",
    "NCCL_IB_TIMEOUT": "NCCL: InfiniBand's time-out, 4.096 µs × 2^n (default 20)",
    "NCCL_IB_RETRY_CNT": "NCCL: how often InfiniBand tries again (default 7)",
    "NCCL_IB_TC": "NCCL: traffic class of InfiniBand packets",
    "NCCL_IB_SL": "NCCL: service level of InfiniBand packets",
    "NCCL_IB_QPS_PER_CONNECTION": "NCCL: queue pairs per connection",
    "NCCL_IB_PCI_RELAXED_ORDERING": "NCCL: relaxed ordering, for virtual machines",
    "NCCL_P2P_DISABLE": "NCCL: 1: no direct access between GPUs",
    "NCCL_P2P_LEVEL": "NCCL: up to which distance GPUs access each other directly",
    "NCCL_SHM_DISABLE": "NCCL: 1: no shared memory between local ranks",
    "NCCL_NET_GDR_LEVEL": "NCCL: up to which distance GPU and network device use GPUDirect",
    "NCCL_NET_GDR_READ": "NCCL: GPUDirect also for sending",
    "NCCL_NET": "NCCL: which network: IB, Socket or a plugin's",
    "NCCL_NET_PLUGIN": "NCCL: a network plugin (EFA, GCP)",
    "NCCL_CROSS_NIC": "NCCL: whether rings may change rails between nodes",
    "NCCL_BUFFSIZE": "NCCL: bytes of each channel's buffer (default 4 MiB)",
    "NCCL_NTHREADS": "NCCL: threads per block",
    "NCCL_MIN_NCHANNELS": "NCCL: fewest channels",
    "NCCL_MAX_NCHANNELS": "NCCL: most channels",
    "NCCL_ALGO": "NCCL: which algorithms (Ring, Tree, NVLS)",
    "NCCL_PROTO": "NCCL: which protocols (LL, LL128, Simple)",
    "NCCL_NVLS_ENABLE": "NCCL: NVLink SHARP",
    "NCCL_CUMEM_ENABLE": "NCCL: CUDA's virtual memory for its buffers",
    "NCCL_TOPO_FILE": "NCCL: an XML file of the machine's topology, in place of what it finds",
    "NCCL_TOPO_DUMP_FILE": "NCCL: the file that it writes the topology to",
    "NCCL_GRAPH_FILE": "NCCL: a file of rings and trees",
    "NCCL_DEBUG": "NCCL: VERSION, WARN, INFO or TRACE",
    "NCCL_DEBUG_SUBSYS": "NCCL: which parts log at INFO",
    "NCCL_DEBUG_FILE": "NCCL: the file of its log: %h host, %p pid",
    "NCCL_IGNORE_CPU_AFFINITY": "NCCL: its threads ignore the process's processors",
    "NCCL_LAUNCH_MODE": "NCCL: PARALLEL or GROUP",
    "NCCL_COMM_ID": "NCCL: the address of its rendezvous, for programs without torch",
    "NCCL_RAS_ENABLE": "NCCL: its own monitoring (2.24 and later)",
    "HF_HOME": "Hugging Face: the folder of models, datasets and tokens",
    "HF_HUB_CACHE": "Hugging Face: the folder of downloaded models",
    "HF_DATASETS_CACHE": "datasets: the folder of prepared datasets",
    "HF_HUB_OFFLINE": "Hugging Face: 1: nothing is downloaded",
    "HF_DATASETS_OFFLINE": "datasets: 1: nothing is downloaded",
    "TRANSFORMERS_OFFLINE": "transformers: 1: nothing is downloaded",
    "HF_ENDPOINT": "Hugging Face: another Hub, a mirror",
    "HF_TOKEN": "Hugging Face: a secret: name it in secrets",
    "HF_HUB_ENABLE_HF_TRANSFER": "Hugging Face: faster downloads",
    "HF_ENABLE_PARALLEL_LOADING": "transformers: loads shards in several threads (before version 5)",
    "TRANSFORMERS_VERBOSITY": "transformers: how much it logs",
    "TENSORBOARD_LOGGING_DIR": "transformers: the folder of TensorBoard's files",
    "WANDB_PROJECT": "W&B: the project of the run",
    "WANDB_MODE": "W&B: online, offline or disabled",
    "WANDB_API_KEY": "W&B: a secret: name it in secrets",
    "WANDB_DIR": "W&B: the folder of its files",
    "USE_MODELSCOPE_HUB": "LLaMA-Factory: takes models from ModelScope",
    "DISABLE_VERSION_CHECK": "LLaMA-Factory: 1: versions are not compared",
    "FORCE_TORCHRUN": "LLaMA-Factory: its own command starts torchrun; allranks has already started it",
    "ALLOW_EXTRA_ARGS": "LLaMA-Factory: 1: arguments that it does not know are ignored",
    "DS_BUILD_OPS": "DeepSpeed's setup: compiles operators at installation; has no effect on a run",
    "DS_ACCELERATOR": "DeepSpeed: which accelerator, in place of what it finds",
    "DS_SKIP_CUDA_CHECK": "DeepSpeed: 1: compiles even if nvcc and torch differ in CUDA",
    "DEEPSPEED_TIMEOUT": "DeepSpeed: the process group's time-out, in minutes (default 30)",
    "ACCELERATE_USE_CPU": "accelerate: trains on processors",
    "TRITON_CACHE_DIR": "Triton: the folder of compiled kernels",
    "MAX_JOBS": "ninja: how many compilers run at once",
}

OF_SCRIPTS = (
    *("NODE_RANK", "MASTER_NODE", "NNODES", "NPROC_PER_NODE", "OUTPUT_DIR", "DS_CONFIG", "HOST", "WORKER"),
    *("IFACE", "SLOTS"),
)
"""Variables that guides use in their shell scripts and that only those scripts read. (LLaMA-Factory's own launcher
reads the first three if it starts torchrun itself.)"""

RENAMED = {
    "NCCL_ASYNC_ERROR_HANDLING": "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_BLOCKING_WAIT": "TORCH_NCCL_BLOCKING_WAIT",
    "NCCL_DESYNC_DEBUG": "TORCH_NCCL_DESYNC_DEBUG",
    "NCCL_ENABLE_TIMING": "TORCH_NCCL_ENABLE_TIMING",
    "TRANSFORMERS_CACHE": "HF_HOME",
    "PYTORCH_TRANSFORMERS_CACHE": "HF_HOME",
    "HUGGINGFACE_HUB_CACHE": "HF_HUB_CACHE",
    "HUGGING_FACE_HUB_TOKEN": "HF_TOKEN",
}
"""Old names, each with its new one. Some versions still read the old name and print a warning. torch renamed its own
variables to `TORCH_NCCL_…` in 2.2."""

NOBODYS = {
    "TORCH_NCCL_TIMEOUT_MS": "no torch has read it; the process group's own time-out decides (10 min for NCCL)",
    "NCCL_TIMEOUT": "NCCL has no such variable; torch's time-out of a process group decides (10 min)",
    "NCCL_TIMEOUT_MS": "NCCL has no such variable; torch's time-out of a process group decides (10 min)",
    "NCCL_PORT_RANGE": "NCCL has no such variable; it listens on ports that the kernel chooses "
    "(net.ipv4.ip_local_port_range)",
    "NCCL_LL_THRESHOLD": "NCCL has not read it since 2.5",
    "NCCL_TREE_THRESHOLD": "NCCL has not read it since 2.5",
    "NCCL_IB_CUDA_SUPPORT": "NCCL has not read it since 2.4; NCCL_NET_GDR_LEVEL is its successor",
    "GLOO_TIMEOUT": "gloo has no such variable; torch's time-out of a process group decides (30 min)",
}
TIMEOUT_DO = "ddp_timeout: seconds in train.llamafactory, or timeout= of init_process_group in a script"

TAKE_OUT = "take it out of env"

PREFIXES = ("NCCL_", "TORCH_NCCL_", "GLOO_")
"""Only the libraries read variables with these prefixes: a name that is not in them has no effect."""


def line(name: str, value: str, held: Collection[str] | None = None, transformers: int | None = None) -> Line:
    """The verdict on one variable. `held` are the names in the installed libraries, `transformers` is the major version
    of transformers; each is None if it is not known."""

    def said(status: str, why: str, do: str = "") -> Line:
        return Line("variable", name, value, status, why, do)

    if name in SET_BY_TORCHRUN:
        return said(DROPPED, "torchrun sets it for every rank", TAKE_OUT)
    if name in RENAMED:
        is_gone = name == "TRANSFORMERS_CACHE" and (transformers or 5) >= 5
        why = f"the old name of {RENAMED[name]}"
        return said(VOID if is_gone else COSTLY, why, f'{RENAMED[name]}: "{value}"')
    if void := unread(name, held, transformers):
        return said(VOID, *void)
    values, why, do = COSTS.get(name, ((), "", ""))
    if value.strip().upper() in values:
        return said(COSTLY, why, do)
    if name.startswith(PREFIXES) and held is None and name not in KNOWN:
        return said(SET, "not known here, and no node has libraries to look it up in")
    return said(SET, KNOWN.get(name, "handed on to the ranks"))


def unread(name: str, held: Collection[str] | None, transformers: int | None) -> tuple[str, str] | None:
    """(why no program reads the variable, the fix); None if a program may read it."""
    if name.startswith("SLURM_"):
        return "SLURM sets it in its own jobs; what env says reaches the ranks alone", TAKE_OUT
    if name in OF_SCRIPTS:
        return "only the guides' own scripts read it", TAKE_OUT
    if name in NOBODYS and name not in (held or ()):
        return NOBODYS[name], TIMEOUT_DO if "TIMEOUT" in name else TAKE_OUT
    if name == "HF_ENABLE_PARALLEL_LOADING" and (transformers or 5) >= 5:
        return "transformers 5 always loads in parallel and does not read it", TAKE_OUT
    if name == "DS_BUILD_OPS":
        return KNOWN[name], "set it where DeepSpeed is installed"
    if held is not None and name.startswith(PREFIXES) and name not in held:
        why = "the installed torch and NCCL do not hold this name"
        return why, nearest(name, held, 0.8, TAKE_OUT)
    return None


COSTS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "NCCL_P2P_DISABLE": (
        ("1",),
        "NVLink's traffic goes over shared memory or TCP: 12 GB/s at best in place of some 230 (8 A100)",
        "take it out once the smoke test has passed",
    ),
    "NCCL_SHM_DISABLE": (
        ("1",),
        "local ranks without NVLink talk over TCP",
        "take it out once the smoke test has passed",
    ),
    "NCCL_IB_DISABLE": (
        ("1",),
        "nodes talk over TCP, although there may be InfiniBand",
        "take it out if there is",
    ),
    "NCCL_DEBUG": (
        ("INFO", "TRACE"),
        "thousands of lines per rank at each start; TRACE also slows each call",
        'NCCL_DEBUG: "WARN"',
    ),
    "NCCL_DEBUG_SUBSYS": (("ALL",), "every call is logged, also each collective", "INIT,ENV,NET is enough"),
    "TORCH_DISTRIBUTED_DEBUG": (
        ("DETAIL",),
        "every collective is checked against all ranks first: two collectives for one",
        'TORCH_DISTRIBUTED_DEBUG: "INFO", or take it out',
    ),
    "TORCH_NCCL_BLOCKING_WAIT": (
        ("1",),
        "each collective is waited for on the processor, so that nothing overlaps",
        "take it out: TORCH_NCCL_ASYNC_ERROR_HANDLING ends ranks just as well",
    ),
    "CUDA_LAUNCH_BLOCKING": (("1",), "each kernel is waited for: several times slower", "take it out"),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": (
        ("1",),
        "each allocation asks CUDA: several times slower",
        "take it out",
    ),
    "TORCH_NCCL_NAN_CHECK": (("1",), "each tensor is read once more before its collective", "take it out"),
    "NCCL_NET_GDR_LEVEL": (("0", "LOC"), "GPUDirect is off, although it may work", "take it out"),
}
"""Values that take effect but have a cost: (the values, the cost, the fix). Wrong values have their own checks."""
