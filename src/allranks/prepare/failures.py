"""How preparing a node fails: with findings, one per node, each with its fix."""

from __future__ import annotations

from collections.abc import Sequence

from allranks.core import BLOCK, Blocked, Finding, Where
from allranks.transport import Completed


class NotReady(Blocked):
    """Nodes that could not be prepared; `findings` say why, one for each."""

    def __init__(self, findings: Sequence[Finding]):
        super().__init__("\n".join(finding.saw for finding in findings))
        self.findings = list(findings)


def blocked(name: str, node: str | None, saw: str, *, why: str, fix: str, expected: str = "") -> NotReady:
    return NotReady([Finding(name, BLOCK, Where(node=node), saw=saw, expected=expected, why=why, fix=fix)])


def engine_failed(node: str, argv: Sequence[str], done: Completed) -> NotReady:
    """The container engine, or a basic program beside it, does not do a simple thing."""
    return blocked(
        "container-engine-failed",
        node,
        f"{node}: {' '.join(argv[:4])}: {last_words(done)}",
        why="no container can be made there.",
        fix=f"run it by hand on {node}: it prints the same error; fix it there",
    )


NOISE = ("Run 'docker", "See 'docker", "[notice]", "WARNING:")


def last_words(done: Completed, most: int = 400) -> str:
    """The last line that a failed program printed, without docker's hints at its help and pip's notices."""
    text = (done.err.strip() or done.out.strip()).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(NOISE)] or lines
    return lines[-1][:most] if lines else f"exit code {done.code}, and it printed nothing"
