"""The training environment without a container: built from a lock file, or made by modules and a script."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from allranks.core import Finding, Node
from allranks.prepare.failures import NotReady, blocked, last_words
from allranks.spec import Run
from allranks.transport import Completed, NodeProgram, Nodes, ProgramFailed, is_hidden

BUILD_SECONDS = 3700.0
ACTIVATE_SECONDS = 120.0
"""A module system on a cold network filesystem; conda's activation takes a second or two."""

ACTIVATE = r"""
python=$1 activate=$2; shift 2
env -0 | base64 -w0; echo
exec 3>&1 1>&2
for name in "$@"; do module load "$name" || exit 3; done
set --
case $activate in "~/"*) activate=$HOME/${activate#"~/"} ;; esac
case $python in "~/"*) python=$HOME/${python#"~/"} ;; esac
if [ -n "$activate" ]; then . "$activate" || exit 3; fi
exec 1>&3
env -0 | base64 -w0; echo
command -v "$python" || { echo "there is no $python" >&2; exit 3; }
"""
"""A script for a login shell, in which `module` is a function. It gets values as arguments; they are never part of its
text. The sourced script gets none of them: conda's `activate` would take them for its own."""

IN_LOGIN_SHELL = (
    "sh",
    "-c",
    'env -0 | base64 -w0; echo; exec bash -l -c "$@"',
    "allranks",
    ACTIVATE,
    "allranks",
)
"""Prints the variables from before the login, too."""

OF_THE_SHELL = ("_", "SHLVL", "PWD", "OLDPWD", "SHELLOPTS", "BASHOPTS", "PS1", "LS_COLORS")


@dataclass(frozen=True)
class Activated:
    """The variables that activation changed on one node, and the Python that it leads to."""

    python: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def with_own_programs(self) -> Activated:
        """Puts the programs beside the Python before those of the modules. Without a changed PATH the node does so."""
        folder, path = posixpath.dirname(self.python), self.variables.get("PATH")
        if path is None or not folder or folder in path.split(":"):
            return self
        return Activated(self.python, {**self.variables, "PATH": f"{folder}:{path}"})

    def plain(self, secrets: Collection[str]) -> dict[str, str]:
        """The variables that may be stored and shown. `secrets` are the names of the run's secrets, whose values come
        from the machine that allranks runs on."""
        return {name: value for name, value in self.variables.items() if not self._is_hidden(name, secrets)}

    def hidden(self, secrets: Collection[str]) -> dict[str, str]:
        """The variables whose name or form shows that they are secret, without the run's own `secrets`. The ranks get
        them in the same way as the run's secrets."""
        return {
            name: value
            for name, value in self.variables.items()
            if name not in secrets and self._is_hidden(name, secrets)
        }

    def _is_hidden(self, name: str, secrets: Collection[str]) -> bool:
        return is_hidden(frozenset(secrets), name, self.variables[name])


async def activate_all(nodes: Nodes, run: Run, python: str) -> tuple[dict[str, Activated], list[Finding]]:
    """The activated environment by node, and findings for the nodes on which activation fails; both are empty if the
    run file does not ask for one.

    A node that cannot be reached is left out: the caller's next call to it fails in the same way.
    """
    own = run.environment
    if run.container is not None or not (own.modules or own.activate or own.conda):
        return {}, []
    found: dict[str, Activated] = {}
    findings: list[Finding] = []

    async def one(node: Node, program: NodeProgram) -> None:
        try:
            shell = own.modules or own.activate
            made = await activate(program, run, python) if shell else Activated(python)
            found[node.name] = await in_conda(program, own.conda, made) if own.conda else made
        except NotReady as error:
            findings.extend(error.findings)

    await nodes.each(one)
    return found, findings


async def activate(program: NodeProgram, run: Run, python: str) -> Activated:
    """Loads the modules and sources the script in a login shell of the node; raises NotReady."""
    words = [python, run.environment.activate or "", *run.environment.modules]
    done = await program.transport.run([*IN_LOGIN_SHELL, *words], timeout_seconds=ACTIVATE_SECONDS)
    lines = done.out.decode("ascii", "replace").split("\n")
    if done.code != 0 or len(lines) < 5:
        # Standard output has the node's whole environment, and with it secrets: it is never shown.
        shown = Completed(done.code, b"", done.err)
        named = ", ".join([*run.environment.modules, *filter(None, [run.environment.activate])])
        raise blocked(
            "activation-failed",
            program.node,
            f"{named} fails on {program.node}: {last_words(shown)}",
            expected=f"an environment with {python}",
            why="libraries and programs that the ranks need would not be found there.",
            fix=f"the same in a login shell on {program.node} shows the same error",
        )
    before, after = variables(lines[-4]), variables(lines[-3])
    if is_loaded(run, before):  # by the login itself, which the ranks do not have
        before = variables(lines[0])
    refuse_unloaded(program.node, run, after)
    changed = {name: value for name, value in after.items() if before.get(name) != value and is_plain(name)}
    found = Activated(lines[-2], changed)
    return found.with_own_programs() if run.environment.python else found


def is_loaded(run: Run, before: Mapping[str, str]) -> bool:
    """Whether the login shell had already loaded one of the run's modules."""
    loaded = before.get("LOADEDMODULES", "").split(":")
    return any(is_of(module, name) for module in run.environment.modules for name in loaded if name)


async def in_conda(program: NodeProgram, name: str, made: Activated) -> Activated:
    """The Python of the node's conda environment, with the variables by which programs know that they are in one."""
    try:
        answer = await program.call("conda", stdin={"name": name})
    except ProgramFailed as error:
        told = error.answer.get("problems")
        problem = told[0] if isinstance(told, list) and told and isinstance(told[0], dict) else {}
        raise blocked(
            "conda-environment",
            program.node,
            f"{program.node}: {problem.get('saw') or error.text}",
            expected=f"one conda environment named {name}",
            why="the ranks would have no Python to train with.",
            fix=str(problem.get("do") or "environment: {python: PATH}"),
        ) from None
    own = {"CONDA_PREFIX": str(answer.get("prefix")), "CONDA_DEFAULT_ENV": name}
    return Activated(str(answer.get("python")), {**made.variables, **own}).with_own_programs()


def variables(line: str) -> dict[str, str]:
    """`env -0` in base64."""
    block = base64.b64decode(line).decode("utf-8", "surrogateescape")
    pairs = (entry.partition("=") for entry in block.split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs}


def is_plain(name: str) -> bool:
    return name not in OF_THE_SHELL and not name.startswith("BASH_FUNC_")


def refuse_unloaded(node: str, run: Run, after: Mapping[str, str]) -> None:
    """Environment Modules before 4.0 ends with 0 if a module is not there; its own list tells. Newer ones and Lmod end
    with an error, and their lists hold other names: `cuda/default` loads `cuda/12.4`."""
    loaded = after.get("LOADEDMODULES")
    if loaded is None or any(name in after for name in ("LMOD_VERSION", "LMOD_CMD", "MODULES_CMD")):
        return
    names = loaded.split(":")
    for module in run.environment.modules:
        if not any(is_of(module, name) for name in names):
            raise blocked(
                "activation-failed",
                node,
                f"module load {module} on {node} left no such module: {loaded or 'none is loaded'}",
                expected=module,
                why="libraries and programs that the ranks need would not be found there.",
                fix=f"module avail on {node} lists what is there",
            )


def is_of(module: str, name: str) -> bool:
    """Whether a loaded module is the one that was asked for, perhaps with a part of its version or none."""
    return name == module or name.startswith((module + "/", module + "."))


def lock_text(run: Run) -> str:
    """The lock file's text; raises BadInput if it cannot be read."""
    try:
        return Path(run.environment.lock or "").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        saw = f"environment.lock: {run.environment.lock} cannot be read: {error}"
        do = "a requirements file, as pip freeze, pip-compile or uv export write it"
        raise run.refuse("environment.lock", saw, "", do) from None


async def build(program: NodeProgram, run: Run, lock: str, python: str) -> str:
    """The node's virtual environment of the lock file, made if it is not there yet; its Python."""
    wanted = {"python": python, "lock": lock, "wheels": run.environment.wheels}
    try:
        answer = await program.call("environment", stdin=wanted, timeout_seconds=BUILD_SECONDS)
        return str(answer["python"])
    except ProgramFailed as error:
        raise blocked(
            "environment-not-built",
            program.node,
            f"the environment of {run.environment.lock} cannot be built on {program.node}: {error.text}",
            expected="the packages of the lock file",
            why="its ranks would have no environment.",
            fix="fix the error of pip; without a network on the nodes: environment: {wheels: a folder of wheels}",
        ) from None
