"""The verdict of the nodes' training libraries on this run's configuration (`node/configuration_trial.py`).

An answer is about one configuration. It counts only for a run with the same configuration, since the facts may have
been recorded with an older run file. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from allranks.core import Facts
from allranks.core.untrusted import mapping, text
from allranks.plan import trainer
from allranks.plan.deepspeed import is_profile
from allranks.spec import Run

FACT = "imports.configuration"
MOST_CHARACTERS = 600
"""The most of the libraries' message that a finding quotes: argparse's list of all schedules has about 400."""


@dataclass(frozen=True)
class Answer:
    """One node's answer. `said` is the libraries' message. `refused` is None if they could not be asked; `said` is the
    reason then. `step`, `library` and `error` (the exception's type) show where a refusal came from. `skipped` maps
    steps that were not tried to the reason."""

    node: str
    refused: bool | None
    said: str = ""
    step: str = ""
    library: str = ""
    error: str = ""
    skipped: Mapping[str, str] | None = None

    @property
    def words(self) -> str:
        """`said` without line breaks and without pydantic's link to its manual."""
        rows = [row.strip() for row in self.said.splitlines() if "errors.pydantic.dev" not in row]
        return " ".join(row for row in rows if row)[:MOST_CHARACTERS]


def question(run: Run, planned: Mapping[str, Any], deepspeed: Mapping[str, Any] | None) -> dict[str, Any]:
    """The question that a node asks its libraries, with a digest that connects the answer to this configuration.
    `planned` are the plan's changes of the trainer's arguments, `deepspeed` is the JSON that the run will get."""
    told = trainer.arguments(run, planned, "", None)
    kept = {key: value for key, value in told.items() if key not in ("output_dir", "deepspeed")}
    form = {"words": trainer.words(kept)} if run.train.as_words else {"yaml": trainer.file_text(run, kept)}
    return {
        "digest": digest(run, deepspeed),
        "kind": "llamafactory",
        **form,
        "deepspeed": None if deepspeed is None else dict(deepspeed),
        "world_size": run.cluster.world_size,
        "cpu": run.on_cpu,
    }


def question_of_script(run: Run, path: str, filled: bool, config: Mapping[str, Any] | None) -> dict[str, Any]:
    """The same for the user's own script, about the DeepSpeed JSON that its command names. The node reads `path` itself
    unless its content is known as `config`. If `filled`, transformers fills in the `auto` values."""
    return {
        "digest": digest(run, None),
        "kind": "deepspeed",
        "path": path,
        "deepspeed": None if config is None else dict(config),
        "filled": filled,
        "world_size": run.cluster.world_size,
        "cpu": run.on_cpu,
    }


def digest(run: Run, deepspeed: Mapping[str, Any] | None) -> str:
    """A digest of the configuration that the user wrote. A profile counts only by its name, since its sizes depend on
    facts that the nodes have sent in the meantime."""
    named = run.deepspeed if is_profile(run.deepspeed) else deepspeed or None
    about = [dict(run.train.arguments), named, run.cluster.world_size, run.on_cpu, run.save.every]
    about += [dict(run.train.written)] if run.train.written else []
    about += ["as words"] if run.train.as_words else []
    about += [list(run.train.command)] if run.train.kind == "command" else []
    text = json.dumps(about, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def answer_of(run: Run, deepspeed: Mapping[str, Any] | None, facts: Facts) -> Answer | None:
    """A node's answer about this run; None if the node was not asked, or was asked about another configuration."""
    told = mapping(facts.get(FACT))
    if facts.unreadable.get(FACT):
        return Answer(facts.node, None, facts.unreadable[FACT])
    if told.get("digest") != digest(run, deepspeed):
        return None
    answer = mapping(told.get("answer"))
    refused = answer.get("refused")
    if not isinstance(refused, bool):
        return Answer(facts.node, None, text(answer.get("unknown")) or "the answer cannot be read")
    said, step, library, error = (text(answer.get(key)) or "" for key in ("said", "step", "library", "error"))
    skipped = {str(key): str(value) for key, value in mapping(answer.get("skipped")).items()}
    return Answer(facts.node, refused, said, step, library, error, skipped)


def accepted(run: Run, deepspeed: Mapping[str, Any] | None, facts: Iterable[Facts]) -> bool:
    """Whether the libraries of every node that was asked accept the configuration, and one at least was asked. In a
    run with a container the nodes' own libraries say nothing."""
    if run.container is not None:
        return False
    answers = [answer for one in facts if (answer := answer_of(run, deepspeed, one)) is not None]
    return bool(answers) and all(answer.refused is False for answer in answers)
