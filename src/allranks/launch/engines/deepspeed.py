"""DeepSpeed's own launcher over pdsh: one process a node, which starts the supervisor and ends.

For sites that have only this. DeepSpeed sees one slot a node, so that it starts one process there; what it sets
for that process (one visible GPU, a rank) is taken away again, since torchrun starts the ranks. Of an
environment it carries little and spoils some of it; here nothing of a run is in it: the order brings all.

On SIGINT and SIGTERM it runs `pkill -f` on every node, for every process whose command line looks like one of
its own: another person's DeepSpeed run too. So it is started in a session of its own, and nothing of ours ever
sends it a signal: what it started ends by the order that does not come. Tried with deepspeed 0.19.8 and pdsh 2.34.
"""

from __future__ import annotations

import posixpath

from allranks.core import Node
from allranks.launch.engines import Launch, _ssh, pdsh

PROGRAM = "pdsh"
FAILED = "by hand on the head: deepspeed --hostfile FILE --launcher pdsh --no_python hostname"
SAYS = (
    *pdsh.SAYS,
    (
        r"No module named '?deepspeed",
        "DeepSpeed is not in this Python",
        "environment: {python: …} with deepspeed",
    ),
    (r"launcher 'pdsh' not installed", "pdsh is not on its path", "install pdsh on the head"),
    (r"(RuntimeError|ValueError|AssertionError): ", "it ended with an error", FAILED),
    (r"exits with return code = [1-9]", "a supervisor did not begin", FAILED),
)

FORGET = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""What DeepSpeed sets by its slots (accelerator.set_visible_devices_envs), of what the ranks inherit."""

BEGIN = """\
printf %s "$2" >"$1" || exit 1
shift 2
cd / && exec setsid --wait "$@"
"""


def path_of(node: Node) -> str:
    return pdsh.path_of(node)


def command(launch: Launch) -> list[str]:
    folder = pdsh.folder_of(launch)
    user, port = launch.one_login()
    login = f"{user}@" if user else ""
    hosts = "".join(f"{login}{address} slots=1\n" for address in launch.plain_addresses())
    hostfile = posixpath.join(folder, "hostfile")
    options = " ".join([*_ssh.OPTIONS, *(["-p", str(port)] if port else [])])
    words = ["env", f"PDSH_SSH_ARGS_APPEND={options}", launch.run.environment.python or "python3"]
    words += [
        "-m",
        "deepspeed.launcher.runner",
        "--hostfile",
        hostfile,
        "--launcher",
        "pdsh",
        "--no_ssh_check",
    ]
    words += ["--num_nodes", str(len(launch.nodes)), "--num_gpus", "1", "--force_multi"]
    # Both are for ranks, and torchrun makes those: only the options that DeepSpeed insists on.
    words += ["--master_addr", launch.run.cluster.head.address, "--master_port", str(launch.run.network.port)]
    words += [*launch.run.launch.extra, "--no_python", "--no_local_rank"]
    words += ["env", *(word for name in FORGET for word in ("-u", name)), "sh", f"{folder}/%n.sh"]
    return ["sh", "-c", BEGIN, "sh", hostfile, hosts, *words]
