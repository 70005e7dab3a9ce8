"""pdsh over ssh: one command for all nodes, `sh <folder>/%n.sh`; `%n` is a host's place in the list.

Tested with pdsh 2.34: it passes on neither standard input nor the environment, keeps the list's order and replaces
`%n` in the remote command. It ends when every supervisor has been started, so it cannot die later.
"""

from __future__ import annotations

from collections.abc import Mapping

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._readme import readme
from allranks.launch.starting import SSH_FAILURES, TRY, Start, numbered_path
from allranks.spec.launchers import Launcher


def command(start: Start) -> list[str]:
    script, hosts = start.numbered_script(), ",".join(start.hosts())
    words = ["env", f"PDSH_SSH_ARGS_APPEND={' '.join(start.ssh_options(secrets=start.secrets))}"]
    # With a smaller number, the last nodes would wait for the first ones, whose orders wait for the last.
    words += ["pdsh", "-R", "ssh", "-S", "-f", str(len(start.nodes)), *start.extra]
    return [*words, "-w", hosts, f"exec {start.shell} {script}"]


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "pdsh")
    _shell.no_sweep(job, "pdsh")
    _shell.one_machine_each(job, "pdsh")
    how = (
        "```sh\n./pdsh.sh\n```\n\npdsh logs in on all nodes at once and puts the host's name before each line. Ctrl-C"
        " twice ends pdsh, not what it started: to stop a run, end its torchrun on each node.\n"
    )
    text = _shell.start("pdsh: the script of each node, on all nodes at once.")
    text += _shell.plain_folder("pdsh") + _shell.need_secrets(job)
    return {
        "pdsh.sh": File(text + _shell.exec_line(command(job.start("pdsh"))), SCRIPT),
        **_shell.node_scripts(job),
        **_shell.common_files(job),
        **readme(job, "pdsh", how + _shell.send_secrets_says(job)),
    }


FAILURES = (
    *SSH_FAILURES,
    (r"command not found", "a program is missing there", "install it on that node"),
    (r'"error":', "its supervisor did not start", "read its message"),
    (r"exited with exit code", "the start ended with an error", TRY),
    (r"^pdsh@.*: (?!.*exited)", "it could not start", "run the same pdsh by hand on the head"),
)

LAUNCHER = Launcher(
    name="pdsh",
    says="pdsh on the head, over SSH.",
    logs_in_from_head=True,
    program="pdsh",
    packages={"Debian": ("pdsh",), "RedHat": ("pdsh", "pdsh-rcmd-ssh")},
    command=command,
    script_path=numbered_path,
    failures=FAILURES,
    render=render,
)
