"""Environment variables: who reads each, and what it does.

Names of NCCL and torch were looked for in the libraries of NCCL 2.32.3 and torch 2.15.0 (`strings`); where a
node has sent the names of its own libraries (`libraries.variables`), those decide.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from allranks.checks.lint.line import COSTLY, DROPPED, SET, VOID, WRONG, Line


@dataclass(frozen=True)
class Known:
    """`reader` reads the variable and `says` what it then does."""

    reader: str
    says: str


KNOWN: dict[str, Known] = {
    "CUDA_VISIBLE_DEVICES": Known("CUDA", "the GPUs that a process sees, and their order"),
    "CUDA_DEVICE_ORDER": Known("CUDA", "PCI_BUS_ID numbers GPUs as nvidia-smi does"),
    "CUDA_LAUNCH_BLOCKING": Known("CUDA", "waits for each kernel: for debugging"),
    "CUDA_HOME": Known("torch, DeepSpeed", "where nvcc is, for operators that are compiled"),
    "CUDA_MODULE_LOADING": Known("CUDA", "LAZY loads kernels when they are first used"),
    "CUBLAS_WORKSPACE_CONFIG": Known("cuBLAS", "memory of matrix products; makes them deterministic"),
    "OMP_NUM_THREADS": Known("OpenMP", "threads of each rank on the processor"),
    "MKL_NUM_THREADS": Known("MKL", "threads of each rank's matrix library"),
    "TOKENIZERS_PARALLELISM": Known("tokenizers", "whether tokenizing uses several threads"),
    "PYTHONPATH": Known("Python", "where modules are looked for first"),
    "PYTHONUNBUFFERED": Known("Python", "logs appear at once"),
    "PYTHONFAULTHANDLER": Known("Python", "prints stacks when a rank crashes"),
    "LD_LIBRARY_PATH": Known("the loader", "where shared libraries are looked for first"),
    "PYTORCH_CUDA_ALLOC_CONF": Known("torch", "how torch's allocator uses the GPU's memory"),
    "PYTORCH_ALLOC_CONF": Known("torch", "how torch's allocator uses memory (its name since torch 2.9)"),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": Known("torch", "asks CUDA for every allocation: for debugging, slow"),
    "TORCH_DISTRIBUTED_DEBUG": Known("torch", "checks and logs collectives"),
    "TORCH_SHOW_CPP_STACKTRACES": Known("torch", "C++ stacks in errors"),
    "TORCH_CPP_LOG_LEVEL": Known("torch", "C++ log level"),
    "TORCH_LOGS": Known("torch", "logs of the compiler"),
    "TORCH_EXTENSIONS_DIR": Known("torch", "where compiled operators are kept"),
    "TORCH_CUDA_ARCH_LIST": Known("torch, DeepSpeed", "for which GPUs operators are compiled"),
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": Known(
        "torch", "ends a rank whose collective fails or times out (on by default)"
    ),
    "TORCH_NCCL_BLOCKING_WAIT": Known("torch", "the program waits for each collective on the processor"),
    "TORCH_NCCL_TRACE_BUFFER_SIZE": Known("torch", "how many collectives the flight recorder keeps"),
    "TORCH_NCCL_DUMP_ON_TIMEOUT": Known("torch", "writes the flight recorder when a collective times out"),
    "TORCH_FR_BUFFER_SIZE": Known("torch", "how many collectives the flight recorder keeps"),
    "TORCH_FR_DUMP_TEMP_FILE": Known("torch", "where the flight recorder writes"),
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": Known("torch", "where the flight recorder writes"),
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": Known("torch", "after how long a stuck watchdog ends the rank"),
    "TORCH_NCCL_ENABLE_MONITORING": Known("torch", "watches NCCL's watchdog"),
    "TORCH_NCCL_DESYNC_DEBUG": Known("torch", "says which rank is behind at a time-out"),
    "TORCH_NCCL_AVOID_RECORD_STREAMS": Known(
        "torch", "less memory held by collectives (default since torch 2.8)"
    ),
    "TORCH_NCCL_HIGH_PRIORITY": Known("torch", "NCCL's streams before others"),
    "TORCH_NCCL_NAN_CHECK": Known("torch", "looks for NaN before each collective"),
    "TORCH_NCCL_ENABLE_TIMING": Known("torch", "times each collective"),
    "GLOO_SOCKET_IFNAME": Known("gloo", "the interface it listens on: one exact name"),
    "NCCL_SOCKET_IFNAME": Known(
        "NCCL", "interfaces for its rendezvous and TCP: prefixes, = exact, ^ without"
    ),
    "NCCL_SOCKET_FAMILY": Known("NCCL", "AF_INET or AF_INET6"),
    "NCCL_SOCKET_NTHREADS": Known("NCCL", "threads a TCP connection"),
    "NCCL_NSOCKS_PERTHREAD": Known("NCCL", "sockets a thread over TCP"),
    "NCCL_IB_DISABLE": Known("NCCL", "1: no InfiniBand or RoCE"),
    "NCCL_IB_HCA": Known("NCCL", "which InfiniBand devices: prefixes, = exact, ^ without"),
    "NCCL_IB_GID_INDEX": Known("NCCL", "which address of a RoCE port; chosen by itself since 2.21"),
    "NCCL_IB_TIMEOUT": Known("NCCL", "InfiniBand's time-out, 4.096 µs × 2^n (default 20)"),
    "NCCL_IB_RETRY_CNT": Known("NCCL", "how often InfiniBand tries again (default 7)"),
    "NCCL_IB_TC": Known("NCCL", "traffic class of InfiniBand packets"),
    "NCCL_IB_SL": Known("NCCL", "service level of InfiniBand packets"),
    "NCCL_IB_QPS_PER_CONNECTION": Known("NCCL", "queue pairs a connection"),
    "NCCL_IB_PCI_RELAXED_ORDERING": Known("NCCL", "relaxed ordering, for virtual machines"),
    "NCCL_P2P_DISABLE": Known("NCCL", "1: no direct access between GPUs"),
    "NCCL_P2P_LEVEL": Known("NCCL", "up to which distance GPUs access each other directly"),
    "NCCL_SHM_DISABLE": Known("NCCL", "1: no shared memory between local ranks"),
    "NCCL_NET_GDR_LEVEL": Known("NCCL", "up to which distance GPU and network device use GPUDirect"),
    "NCCL_NET_GDR_READ": Known("NCCL", "GPUDirect also for sending"),
    "NCCL_NET": Known("NCCL", "which network: IB, Socket or a plugin's"),
    "NCCL_NET_PLUGIN": Known("NCCL", "a network plugin (EFA, GCP)"),
    "NCCL_CROSS_NIC": Known("NCCL", "whether rings may change rails between nodes"),
    "NCCL_BUFFSIZE": Known("NCCL", "bytes of each channel's buffer (default 4 MiB)"),
    "NCCL_NTHREADS": Known("NCCL", "threads a block"),
    "NCCL_MIN_NCHANNELS": Known("NCCL", "fewest channels"),
    "NCCL_MAX_NCHANNELS": Known("NCCL", "most channels"),
    "NCCL_ALGO": Known("NCCL", "which algorithms (Ring, Tree, NVLS)"),
    "NCCL_PROTO": Known("NCCL", "which protocols (LL, LL128, Simple)"),
    "NCCL_NVLS_ENABLE": Known("NCCL", "NVLink SHARP"),
    "NCCL_CUMEM_ENABLE": Known("NCCL", "CUDA's virtual memory for its buffers"),
    "NCCL_TOPO_FILE": Known("NCCL", "an XML file of the machine's topology, in place of what it finds"),
    "NCCL_TOPO_DUMP_FILE": Known("NCCL", "where it writes the topology it found"),
    "NCCL_GRAPH_FILE": Known("NCCL", "a file of rings and trees"),
    "NCCL_DEBUG": Known("NCCL", "VERSION, WARN, INFO or TRACE"),
    "NCCL_DEBUG_SUBSYS": Known("NCCL", "which parts speak at INFO"),
    "NCCL_DEBUG_FILE": Known("NCCL", "where it writes: %h host, %p pid"),
    "NCCL_IGNORE_CPU_AFFINITY": Known("NCCL", "its threads ignore the process's processors"),
    "NCCL_LAUNCH_MODE": Known("NCCL", "PARALLEL or GROUP"),
    "NCCL_COMM_ID": Known("NCCL", "where its rendezvous is, for programs without torch"),
    "NCCL_RAS_ENABLE": Known("NCCL", "its own monitoring (2.24 and later)"),
    "HF_HOME": Known("Hugging Face", "where models, datasets and tokens are kept"),
    "HF_HUB_CACHE": Known("Hugging Face", "where models are kept"),
    "HF_DATASETS_CACHE": Known("datasets", "where prepared datasets are kept"),
    "HF_HUB_OFFLINE": Known("Hugging Face", "1: nothing is downloaded"),
    "HF_DATASETS_OFFLINE": Known("datasets", "1: nothing is downloaded"),
    "TRANSFORMERS_OFFLINE": Known("transformers", "1: nothing is downloaded"),
    "HF_ENDPOINT": Known("Hugging Face", "another Hub, a mirror"),
    "HF_TOKEN": Known("Hugging Face", "a secret: name it in secrets"),
    "HF_HUB_ENABLE_HF_TRANSFER": Known("Hugging Face", "faster downloads"),
    "HF_ENABLE_PARALLEL_LOADING": Known("transformers", "loads shards in several threads (before version 5)"),
    "TRANSFORMERS_VERBOSITY": Known("transformers", "how much it logs"),
    "TENSORBOARD_LOGGING_DIR": Known("transformers", "where TensorBoard's files go"),
    "WANDB_PROJECT": Known("W&B", "the project of the run"),
    "WANDB_MODE": Known("W&B", "online, offline or disabled"),
    "WANDB_API_KEY": Known("W&B", "a secret: name it in secrets"),
    "WANDB_DIR": Known("W&B", "where it keeps its files"),
    "USE_MODELSCOPE_HUB": Known("LLaMA-Factory", "takes models from ModelScope"),
    "DISABLE_VERSION_CHECK": Known("LLaMA-Factory", "1: versions are not compared"),
    "FORCE_TORCHRUN": Known("LLaMA-Factory", "its own command starts torchrun; allranks has done so already"),
    "ALLOW_EXTRA_ARGS": Known("LLaMA-Factory", "1: arguments that it does not know are ignored"),
    "DS_BUILD_OPS": Known(
        "DeepSpeed's setup", "compiles operators at installation; nothing while a run lasts"
    ),
    "DS_ACCELERATOR": Known("DeepSpeed", "which accelerator, in place of what it finds"),
    "DS_SKIP_CUDA_CHECK": Known("DeepSpeed", "1: compiles also where nvcc and torch differ in CUDA"),
    "DEEPSPEED_TIMEOUT": Known("DeepSpeed", "the process group's time-out, in minutes (default 30)"),
    "ACCELERATE_USE_CPU": Known("accelerate", "trains on processors"),
    "TRITON_CACHE_DIR": Known("Triton", "where compiled kernels are kept"),
    "MAX_JOBS": Known("ninja", "how many compilers run at once"),
}

BY_TORCHRUN = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "ROLE_NAME",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS",
)
"""torchrun sets these for every rank (torch 2.13, elastic/agent/server/local_elastic_agent.py)."""

OF_SCRIPTS = (
    "NODE_RANK",
    "MASTER_NODE",
    "NNODES",
    "NPROC_PER_NODE",
    "OUTPUT_DIR",
    "DS_CONFIG",
    "HOST",
    "WORKER",
    "IFACE",
    "SLOTS",
)
"""Names of the guides' shell scripts, which only those scripts read (LLaMA-Factory's own launcher reads the
first three where it starts torchrun itself)."""

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
"""Old names (torch renamed its own in 2.2: `TORCH_NCCL_…`), which some version still reads with a warning."""

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

PREFIXES = ("NCCL_", "TORCH_NCCL_", "GLOO_")
"""Variables of these prefixes are read by the libraries alone: one that they do not hold is nobody's."""


def line(name: str, value: str, held: Collection[str] | None = None, transformers: int | None = None) -> Line:
    """What becomes of one variable. `held` are the names in the installed libraries, `transformers` its major."""

    def said(status: str, why: str, do: str = "") -> Line:
        return Line("variable", name, value, status, why, do)

    launched = of_launcher(name)
    if launched is not None:
        return said(*launched, "take it out of env")
    if name in RENAMED:
        return said(
            VOID if name == "TRANSFORMERS_CACHE" and (transformers or 5) >= 5 else COSTLY,
            f"the old name of {RENAMED[name]}",
            f'{RENAMED[name]}: "{value}"',
        )
    if name in NOBODYS and name not in (held or ()):
        return said(VOID, NOBODYS[name], TIMEOUT_DO if "TIMEOUT" in name else "take it out of env")
    if name == "HF_ENABLE_PARALLEL_LOADING" and (transformers or 5) >= 5:
        return said(
            VOID, "transformers 5 loads in parallel always and does not read it", "take it out of env"
        )
    if name == "DS_BUILD_OPS":
        return said(VOID, KNOWN[name].says, "set it where DeepSpeed is installed")
    if held is not None and name.startswith(PREFIXES) and name not in held:
        return said(VOID, "the installed torch and NCCL do not hold this name", nearest(name, held))
    special = of_value(name, value)
    if special is not None:
        return said(*special)
    known = KNOWN.get(name)
    if known is not None:
        return said(SET, f"{known.reader}: {known.says}")
    if name.startswith(PREFIXES) and held is None:
        return said(SET, "not known here, and no node has libraries to look it up in")
    return said(SET, "handed on to the ranks")


def of_launcher(name: str) -> tuple[str, str] | None:
    """`(status, why)` of variables that a launcher sets or a guide's script reads."""
    if name in BY_TORCHRUN:
        return DROPPED, "torchrun sets it for every rank"
    if name.startswith("SLURM_"):
        return VOID, "SLURM sets it in its own jobs; what env says reaches the ranks alone"
    if name in OF_SCRIPTS:
        return VOID, "only the guides' own scripts read it"
    return None


def nearest(name: str, held: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, held, n=1, cutoff=0.8)
    return f"{near[0]}, which they hold" if near else "take it out of env"


def of_value(name: str, value: str) -> tuple[str, str, str] | None:
    """`(status, why, do)` of values that are paid for, or do harm."""
    costs = COSTS.get(name)
    if costs is None:
        return None
    values, why, do = costs
    return (COSTLY, why, do) if value.strip().upper() in values else None


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
        "nodes talk over TCP, also where there is InfiniBand",
        "take it out where there is",
    ),
    "NCCL_DEBUG": (
        ("INFO", "TRACE"),
        "thousands of lines a rank at each start; TRACE also slows each call",
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
    "NCCL_NET_GDR_LEVEL": (("0", "LOC"), "GPUDirect is off, also where it works", "take it out"),
}
"""Values that are paid for. WRONG ones are checks of their own."""

__all__ = ["BY_TORCHRUN", "KNOWN", "NOBODYS", "RENAMED", "WRONG", "Known", "line"]
