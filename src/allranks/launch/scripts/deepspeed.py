"""DeepSpeed's own launcher: a hostfile, a command, and `.deepspeed_env`."""

from __future__ import annotations

from collections.abc import Mapping

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._phrases import NUL, at_home, bash, matches
from allranks.launch.scripts._readme import readme
from allranks.launch.scripts.pdsh import ssh_port

CARRIED = r"[A-Za-z0-9_@+=:,./-]*"
"""Values that `.deepspeed_env` brings over whole (deepspeed 0.19.8, launcher/multinode_runner.py): the rest it
puts between double quotes as they are, where the nodes' shells read `$` and quotes, and pdsh reads `%`."""

PREFIXES = ("CUDA_", "GLOO_", "HF_", "MKL_", "NCCL_", "OMP_", "PYTORCH_", "TORCH", "UCX_")
"""Names that go there. Bash acts on many others (IFS, UID, BASH_ENV) before rank.sh could hand them on."""


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "deepspeed")
    _shell.no_sweep(job, "deepspeed")
    _shell.one_machine_each(job, "deepspeed")
    _shell.plain_addresses(job, "deepspeed", ports=True)
    no_container(job)
    carried = carried_environment(job)
    files = _shell.common_files(job)
    files["environment.sh"] = File(_shell.environment(job, elsewhere=carried))
    how = (
        "```sh\n./deepspeed.sh\n```\n\nThe launcher logs in over ssh with pdsh; `deepspeed` and `pdsh` must be here,"
        " and the same Python at the same path on every node.\n\n"
        "When it is interrupted it ends processes on the nodes with `pkill -f`, by their command line: it also ends"
        " another run of yours that was started the same way there.\n\n"
        "`.deepspeed_env` holds the variables that it can carry; the others stand in environment.sh. A"
        " `~/.deepspeed_env` of yours is read as well, and loses where both set a name.\n"
    )
    how += _shell.send_secrets_says(job)
    return {
        "deepspeed.sh": File(script(job), SCRIPT),
        "hostfile": File(hostfile(job)),
        ".deepspeed_env": File("".join(f"{name}={value}\n" for name, value in carried.items())),
        "rank.sh": File(rank_script(job), SCRIPT),
        **files,
        **readme(job, "DeepSpeed's launcher", how),
    }


def no_container(job: ScriptJob) -> None:
    if job.container is not None:
        raise job.refuse(
            "container",
            f"container: {job.container.image}.",
            "DeepSpeed's launcher starts Python on the nodes themselves, not in a container.",
            "--render torchrun or pdsh, or environment.python and no container",
        )


def carried_environment(job: ScriptJob) -> dict[str, str]:
    return {
        name: value
        for name, value in job.common_environment().items()
        if name.startswith(PREFIXES) and NUL not in value and matches(CARRIED, value)
    }


def hostfile(job: ScriptJob) -> str:
    users = _shell.users(job, "deepspeed")
    return "".join(
        f"{f'{user}@' if user is not None else ''}{node.address} slots={node.gpus}\n"
        for node, user in zip(job.nodes, users, strict=True)
    )


def script(job: ScriptJob) -> str:
    text = _shell.start("DeepSpeed's launcher.") + (
        "# On Ctrl-C it ends processes on the nodes with `pkill -f`: by their command line, not by what they are.\n"
    )
    text += _shell.plain_folder("deepspeed")
    text += _shell.send_secrets(job)
    port = ssh_port(job)
    program = f"{_shell.parent(job.python)}/deepspeed" if "/" in job.python else "deepspeed"
    words = [
        "--hostfile hostfile",
        "--launcher pdsh",
        *([f"--ssh_port {port}"] if port is not None else []),
        *(["--force_multi"] if len(job.nodes) == 1 else []),
        f"--master_addr {bash(job.run.cluster.head.address)}",
        f"--master_port {job.run.network.port}",
        *(bash(word) for word in _shell.extra(job, "deepspeed")),
        # The launcher puts arguments into a shell's command line unquoted, so rank.sh brings its own.
        "--no_python --no_local_rank ./rank.sh",
    ]
    # It reads .deepspeed_env where it is started, and starts the nodes in a folder of the same path.
    return text + f'cd -- "$here"\nexec {bash(program)} ' + " \\\n  ".join(words) + "\n"


def rank_script(job: ScriptJob) -> str:
    """One rank: DeepSpeed has set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""
    text = _shell.start("Started by DeepSpeed's launcher: one rank.") + (
        "self=$here/rank.sh\n"
        "# The number of this node, as DeepSpeed's launcher sets it.\n"
        "node=${CROSS_RANK:?the DeepSpeed launcher starts this}\n"
    )
    return text + _shell.SOURCE_COMMON + "\n" + _shell.command([at_home(job.python), "-u"])
