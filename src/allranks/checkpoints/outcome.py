"""The outcome of verifying one checkpoint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Tuple

from allranks.core import BLOCK, Finding


@dataclass(frozen=True)
class Report:
    """The outcome for one checkpoint. `whole` is true only if nothing is damaged and nothing is unknown.

    `kind` is `adapter` or a kind of `kinds/`, `title` its name for people with the kinds beside it, `text` tells
    in a few words what is there. `can_resume`: it holds the state of the training, in the script's own form."""

    path: str
    findings: Tuple[Finding, ...]
    tensors: int
    parameters: int
    step: Optional[int]
    whole: bool
    kind: str = "adapter"
    title: str = "LoRA adapter"
    text: str = ""
    can_resume: bool = False

    @property
    def exit_code(self) -> int:
        """0 whole, 1 damaged, 3 could not tell."""
        if self.whole:
            return 0
        return 1 if any(f.verdict == BLOCK for f in self.findings) else 3

    def as_json(self) -> Dict[str, Any]:
        return asdict(self)


def once(findings: List[Finding]) -> List[Finding]:
    """Without a second report of the same thing about the same file (a manifest and a read see one link)."""
    seen, kept = set(), []
    for finding in findings:
        key = (finding.id, finding.where.file)
        if key not in seen:
            seen.add(key)
            kept.append(finding)
    return kept
