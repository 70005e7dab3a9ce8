"""Requests a model's `config.json` from the Hugging Face Hub, from this machine. If there is none, it returns the
reason and the fix."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from allranks.checks.fact_request import hub_model
from allranks.node import hub_cache, hub_request
from allranks.node.hub_request import Answer
from allranks.spec import Run

SECONDS = 6.0
"""The limit for the whole request, with the name look-up. The Hub answers in about 0.2 s."""

ACCEPT = "or go on with --accept model-config-unreadable"
COPY = "name a local copy (model_name_or_path: /PATH), or put its config.json beside the run file"


class FromHub(NamedTuple):
    """The answer: `config`; or the reason (`saw`) and the fix if there is no config."""

    config: dict[str, Any] | None = None
    saw: str = ""
    fix: str = ""


def config_of(run: Run) -> FromHub | None:
    """The Hub's answer about the run's model; None if the model is not from the Hub."""
    model = hub_model(run)
    if model is None:
        return None
    name, revision = model
    base = hub_request.endpoint({**os.environ, **run.env})
    nowhere = f"no config.json of {name} ({revision}) was found here or on a node that was asked"
    forbidden = hub_cache.offline(os.environ) or hub_cache.offline(run.env)
    if forbidden:
        return FromHub(None, f"{nowhere}, and the Hub was not asked ({forbidden}).", f"{COPY}, {ACCEPT}")
    wrong = hub_request.refused(base, plain=False)
    if wrong:
        saw = f"{nowhere}, and the Hub was not asked: HF_ENDPOINT cannot be used from here, {wrong}."
        return FromHub(None, saw, f"HF_ENDPOINT: https://HOST, or {COPY}, {ACCEPT}")
    token = own_token(base)
    return told(name, revision, base, bool(token), asked(base, name, revision, token))


def own_token(base: str) -> str:
    """This user's token, if the endpoint is the Hub itself or the one that the user's variables name. An endpoint
    that only the run file names does not get a token, since another person may have written the run file."""
    if base not in (hub_request.ENDPOINT, hub_request.endpoint(os.environ)):
        return ""
    if hub_cache.is_set(os.environ, "HF_HUB_DISABLE_IMPLICIT_TOKEN"):
        return ""
    token = os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN") or ""
    if not token:
        try:
            with Path(hub_cache.token_file(os.environ)).open("rb") as file:
                token = file.read(hub_cache.MOST_TOKEN_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""
    token = token.strip()
    return token if re.fullmatch(r"[\x21-\x7e]+", token) else ""


@lru_cache(maxsize=16)
def asked(base: str, model: str, revision: str, token: str) -> Answer:
    """Sends the request once per process, since `run` plans several times."""
    return within(SECONDS, lambda: hub_request.fetch(base, model, revision, SECONDS, token))


def within(seconds: float, question: Callable[[], Answer]) -> Answer:
    """Limits the time of the whole request, also for a slow name look-up or an answer that comes byte by byte."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(question()), daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else Answer(trouble=f"no answer within {seconds:g} s")


def told(name: str, revision: str, base: str, has_token: bool, answer: Answer) -> FromHub:
    host = hub_request.host_of(base)
    who = "with this user's token" if has_token else "without a token"
    if answer.status == 200 and not answer.trouble:
        return read(name, host, answer.body)
    if answer.code == "RevisionNotFound":
        saw = f"{host} has no revision {revision} of {name}."
        fix = "model_revision: a branch, tag or commit of it"
    elif answer.code == "EntryNotFound":
        saw = f"{name} on {host} has no config.json: it is not a model that transformers can load."
        fix = "another model"
    elif answer.status == 404 or answer.code == "RepoNotFound":
        saw = f"{host} was asked {who} and has no model {name} ({revision}), or does not show it."
        fix = "correct model_name_or_path; for a private model, export HF_TOKEN here and add secrets: [HF_TOKEN]"
    elif answer.status in (401, 403):
        saw = f"{host} does not give {name} to everybody: it was asked {who} and answered {answer.status}."
        fix = "ask for access on the model's page, export HF_TOKEN here and add secrets: [HF_TOKEN]"
    elif answer.status:
        saw = f"{host} gave no usable config.json of {name}: {answer.trouble or f'it answered {answer.status}'}."
        fix = "try again later"
    else:
        saw = f"{host} could not be reached for the config.json of {name}: {answer.trouble}."
        fix = "HF_ENDPOINT of a mirror that this machine reaches"
    return FromHub(None, f"{saw} No cache that was looked into has it.", f"{fix}; or {COPY}, {ACCEPT}")


def read(name: str, host: str, body: bytes) -> FromHub:
    try:
        config = json.loads(body)
    except (ValueError, RecursionError):
        config = None
    if isinstance(config, dict):
        return FromHub(config)
    saw = f"the config.json of {name} from {host} is not a JSON object."
    return FromHub(None, saw, f"look whether HF_ENDPOINT is a Hub; or {COPY}, {ACCEPT}")
