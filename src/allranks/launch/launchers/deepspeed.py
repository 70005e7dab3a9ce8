"""DeepSpeed's own launcher over pdsh: one process per node, which starts the supervisor (or torchrun) and ends.

It is for sites that have no other launcher. DeepSpeed sees one slot per node, so it starts one process there.
allranks removes the variables that DeepSpeed sets for that process (one visible GPU, a rank), since torchrun starts
the ranks. DeepSpeed passes on only a small part of an environment, and changes some of it; the order, or the node's
script, has everything that a run needs.

On SIGINT and SIGTERM it runs `pkill -f` on every node, which ends every process whose command line looks like its
own, also those of another person's DeepSpeed run. So allranks starts it in a separate session and never sends it a
signal. The processes on the nodes end by themselves if their order does not come. Tested with deepspeed 0.19.8 and
pdsh 2.34.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from allranks.launch.launchers import pdsh
from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._phrases import HERE, at_home
from allranks.launch.scripts._readme import readme
from allranks.launch.starting import Start, numbered_path
from allranks.spec.launchers import Launcher

FORGET = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""Variables that DeepSpeed sets for its slots (accelerator.set_visible_devices_envs) and that the ranks would
inherit."""

AT_HOME = 'python=$HOME/${1#"~/"}; shift; exec "$python" "$@"'
"""Starts a Python whose path begins with the home folder: nothing else expands it."""

BEGIN = """\
printf %s "$2" >"$1" || exit 1
shift 2
cd / && exec setsid --wait "$@"
"""


def command(start: Start) -> list[str]:
    file = posixpath.join(posixpath.dirname(start.numbered_script()), "hostfile")
    python = start.run.environment.python or "python3"
    return ["sh", "-c", BEGIN, "sh", file, hostfile(start), *launch(start, file, python)]


def hostfile(start: Start) -> str:
    return "".join(f"{host} slots=1\n" for host in start.hosts())


def launch(start: Start, file: str, python: str) -> list[str]:
    """The launcher and its options. It puts arguments unquoted into a shell's command line, so the only argument is a
    path."""
    words = ["env", f"PDSH_SSH_ARGS_APPEND={' '.join(start.ssh_options(secrets=start.secrets))}"]
    words += ["sh", "-c", AT_HOME, "sh"] if python.startswith("~/") else []
    words += [python, "-m", "deepspeed.launcher.runner", "--hostfile", file, "--launcher", "pdsh"]
    words += ["--no_ssh_check", "--num_nodes", str(len(start.nodes)), "--num_gpus", "1", "--force_multi"]
    # These options are for ranks, which torchrun starts; but DeepSpeed requires them.
    words += ["--master_addr", start.run.cluster.head.address]
    words += ["--master_port", str(start.run.network.rendezvous_port)]
    words += [*start.extra, "--no_python", "--no_local_rank"]
    forgotten = [word for name in FORGET for word in ("-u", name)]
    return [*words, "env", *forgotten, start.shell, start.numbered_script()]


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "deepspeed")
    _shell.no_sweep(job, "deepspeed")
    _shell.one_machine_each(job, "deepspeed")
    start = job.start("deepspeed")
    how = (
        "```sh\n./deepspeed.sh\n```\n\nThe launcher logs in over ssh with pdsh, which must be here, as must"
        f" DeepSpeed in `{job.python}`. It starts one script per node, which starts torchrun.\n\n"
        "When it is interrupted it ends processes on the nodes with `pkill -f`, by their command line: it also ends"
        " another run of yours that was started the same way there.\n"
    )
    text = _shell.start("DeepSpeed's launcher.") + (
        "# On Ctrl-C it ends processes on the nodes with `pkill -f`: by their command line, not by what they are.\n"
    )
    text += _shell.plain_folder("deepspeed") + _shell.need_secrets(job)
    # DeepSpeed starts the nodes in a folder with the same path, and would read a .deepspeed_env there.
    text += "cd /\n" + _shell.exec_line(launch(start, f"{HERE}/hostfile", at_home(job.python)))
    return {
        "deepspeed.sh": File(text, SCRIPT),
        "hostfile": File(hostfile(start)),
        **_shell.node_scripts(job),
        **_shell.common_files(job),
        **readme(job, "DeepSpeed's launcher", how + _shell.send_secrets_says(job)),
    }


FAILED = "by hand on the head: deepspeed --hostfile FILE --launcher pdsh --no_python hostname"
FAILURES = (
    *pdsh.FAILURES,
    (r"No module named '?deepspeed", "DeepSpeed is not in this Python", "environment: {python: …} with it"),
    (r"launcher 'pdsh' not installed", "pdsh is not on its path", "install pdsh on the head"),
    (r"(RuntimeError|ValueError|AssertionError): ", "it ended with an error", FAILED),
    (r"exits with return code = [1-9]", "a supervisor did not start", FAILED),
)

LAUNCHER = Launcher(
    name="deepspeed",
    says="DeepSpeed's own launcher on the head, over pdsh.",
    logs_in_from_head=True,
    starts_python=True,
    program="pdsh",
    packages=pdsh.LAUNCHER.packages,
    command=command,
    script_path=numbered_path,
    failures=FAILURES,
    render=render,
)
