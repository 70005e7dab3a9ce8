"""`{output}` and `{resume}` in the arguments of a script: filled in for each run, and `{resume}` for each attempt."""

from __future__ import annotations

from typing import Iterable, List, Optional, Sequence

OUTPUT, RESUME = "{output}", "{resume}"


def with_output(words: Iterable[str], folder: str) -> List[str]:
    """The words with the run's output folder in them."""
    return [word.replace(OUTPUT, folder) for word in words]


def with_resume(words: Sequence[str], path: Optional[str]) -> List[str]:
    """The words with the checkpoint to resume from. Without one the argument is left out, and its option with it:
    `--resume {resume}`, `--resume={resume}` and `resume={resume}` are all no word then."""
    filled: List[str] = []
    for word in words:
        if RESUME not in word:
            filled.append(word)
        elif path is not None:
            filled.append(word.replace(RESUME, path))
        elif word == RESUME and filled and filled[-1].startswith("-") and "=" not in filled[-1]:
            filled.pop()
    return filled


def resumes(words: Iterable[str]) -> bool:
    """Whether the words pass a checkpoint to the script."""
    return any(RESUME in word for word in words)
