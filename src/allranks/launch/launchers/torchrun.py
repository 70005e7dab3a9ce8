"""One shell script per node, started by hand, over ssh or by another program."""

from __future__ import annotations

from collections.abc import Mapping

from allranks.core import Node
from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import File, ScriptJob
from allranks.launch.scripts._readme import readme
from allranks.spec.launchers import Launcher


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "torchrun")
    _shell.no_sweep(job, "torchrun")
    lines = "\n".join(ssh(job, node, place) for place, node in enumerate(job.nodes))
    how = (
        "Start each script on its node; the first one waits for the others. From this folder, where it is shared:\n\n"
        f"```sh\n{lines}\nwait\n```\n\n"
        "Ctrl-C ends ssh, not what it started: to stop a run, end its torchrun on each node.\n"
    )
    return {
        **_shell.node_scripts(job),
        **_shell.common_files(job),
        **readme(job, "torchrun", how),
    }


def ssh(job: ScriptJob, node: Node, place: int) -> str:
    """A line that starts one node. It uses `%q`, because the path goes through a second shell on the node."""
    if job.run.same_host:
        return f"bash node-{place}.sh &"
    user = node.user or job.run.user
    words = ["ssh", *(f"-o SendEnv={name}" for name in job.run.secrets)]
    words += [f"-p {node.port}"] if node.port is not None else []
    words += [f"-l {user}"] if user is not None else []
    return " ".join([*words, "--", node.address, f'"$(printf "bash %q" "$PWD/node-{place}.sh")" &'])


LAUNCHER = Launcher(
    name="torchrun",
    says="One shell script per node, to be started by hand.",
    starts=False,
    render=render,
)
