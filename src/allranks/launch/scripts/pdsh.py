"""pdsh over ssh: one command, and on each node the script of its number."""

from __future__ import annotations

from collections.abc import Mapping

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._phrases import bash
from allranks.launch.scripts._readme import readme


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "pdsh")
    _shell.no_sweep(job, "pdsh")
    _shell.one_machine_each(job, "pdsh")
    _shell.plain_addresses(job, "pdsh", ports=True)
    how = (
        "```sh\n./pdsh.sh\n```\n\npdsh logs in on all nodes at once and puts the host's name before each line. Ctrl-C"
        " twice ends pdsh, not what it started: to stop a run, end its torchrun on each node.\n"
    )
    how += _shell.send_secrets_says(job)
    return {
        "pdsh.sh": File(script(job), SCRIPT),
        **_shell.node_scripts(job),
        **_shell.common_files(job),
        **readme(job, "pdsh", how),
    }


def ssh_port(job: ScriptJob) -> int | None:
    """The one ssh port of all nodes."""
    ports = {node.port for node in job.nodes}
    if len(ports) > 1:
        raise job.refuse(
            "nodes",
            "nodes with several ssh ports.",
            "pdsh hands one set of options to every ssh.",
            "Port in ~/.ssh/config, and no port here",
        )
    return ports.pop()


def hosts(job: ScriptJob) -> str:
    users = _shell.users(job, "pdsh")
    return ",".join(
        node.address if user is None else f"{user}@{node.address}"
        for node, user in zip(job.nodes, users, strict=True)
    )


def script(job: ScriptJob) -> str:
    """pdsh puts a host's place in the list for `%n`; the list's order is kept (checked against pdsh 2.34)."""
    text = _shell.start("pdsh: the script of each node, on all nodes at once.")
    text += _shell.plain_folder("pdsh")
    port = ssh_port(job)
    text += _shell.send_secrets(job, [f"-p {port}"] if port is not None else [])
    words = [
        "-R ssh -S",
        # Below the number of nodes the last ones would wait for the first, which wait for them.
        f"-f {len(job.nodes)}",
        *(bash(word) for word in _shell.extra(job, "pdsh")),
        f"-w {bash(hosts(job))}",
        '"exec bash $here/node-%n.sh"',
    ]
    return text + "exec pdsh " + " \\\n  ".join(words) + "\n"
