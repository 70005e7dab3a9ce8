"""A node does not have the model of the Hub: it would download it, or cannot.

## How it is found
A `model_name_or_path`, or a script's option of that name, that names a model of the Hub, not a folder: whether each
node has all of it, in the same version, in the cache that its ranks will use. If not: whether that node reaches the
Hub.

## Why it matters
A node that lacks the model and does not reach the Hub ends the run while it loads the tokenizer, minutes after the
start. A node that reaches it downloads the model while the others wait in the first collective, perhaps until the
time-out. The model on the Hub may also change between the downloads of two nodes.

## What to do
Download it once (`hf download NAME --local-dir /nfs/models/NAME`), and name the folder. Or fill each node's cache
ahead, with `HF_HUB_OFFLINE: "1"` and `model_revision`. Ranks do not inherit a node's own HF_HOME: name it under `env`.

## Source
transformers 5.6 `from_pretrained`; huggingface_hub cache.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.checks.fact_request import hub_model, hub_question, model_key
from allranks.checks.phrases import listed
from allranks.core import BLOCK, WARN
from allranks.node import hub_cache
from allranks.spec import base_model

NEEDS = ("hub.model",)
UNKNOWN_BLOCKS = False
EXPECTED = "the whole model in the cache of every node, or a folder that every node has"


def applies(context: Context) -> bool:
    if context.run.train.kind == "command" and hub_model(context.run) is None:
        return False
    if name_of(context).startswith(("/", "~", "./", "../")):
        return False
    return context.run.container is None or hub_question(context.run) is not None


def check(context: Context) -> Findings:
    if hub_question(context.run) is None and len(context.machines) > 1:
        yield context.warn(
            model_key(context.run),
            saw=f"{name_of(context)} is not the path of a folder, and whether the nodes have it is not known",
            expected=EXPECTED,
            why=f"each of {len(context.machines)} machines may download it while the others wait for the time-out.",
            fix="the path of a folder that every node has",
        )
    views = [view for view in context.machines if view.map("hub.model")]
    lacking = [view for view in views if view.list("hub.model.lacks")]
    for view in lacking:
        yield from lacking_on(context, view)
    commits = {commit for view in views if view not in lacking and (commit := view.text("hub.model.commit"))}
    if len(commits) > 1:
        yield context.warn(
            model_key(context.run),
            saw=f"the nodes' caches hold {len(commits)} versions of {name_of(context)}: {listed(sorted(commits))}",
            expected="one version on every node",
            why="ranks may load different weights or tokenizers, without an error.",
            fix="model_revision: a commit, and that one in every cache",
        )


def name_of(context: Context) -> str:
    return base_model.name_of(context.run) or "/"


def lacking_on(context: Context, view: View) -> Findings:
    said = trouble(context, view)
    if said is None:
        return
    verdict, reason, why = said
    cache, elsewhere = view.text("hub.model.cache"), view.text("hub.model.elsewhere")
    fix = f"hf download {name_of(context)} --local-dir /a/shared/folder, and name that folder"
    if elsewhere:
        fix = f"env: {{HF_HUB_CACHE: {elsewhere}}}: it is there, and ranks do not inherit {view.name}'s own HF_HOME"
    lack = (
        f"lacks {listed(view.list('hub.model.lacks'), 4)} of"
        if view.get("hub.model.exists")
        else "does not have"
    )
    yield context.say(
        verdict,
        view,
        key=model_key(context.run),
        saw=f"{cache} on {view.name} {lack} {name_of(context)}; {reason}",
        expected=EXPECTED,
        why=why,
        fix=fix,
    )


ENDS = "its ranks would end while they load the tokenizer or the model, and all others with them."


def trouble(context: Context, view: View) -> tuple[str, str, str] | None:
    """The verdict, the reason and what follows. It is certain unless ranks start in a folder that may hold the model
    under that very name."""
    certain = WARN if context.run.train.workdir or context.run.train.kind == "command" else BLOCK
    forbidden, answer = hub_cache.offline(context.run.env), view.map("hub.reach")
    host, status = answer.get("host"), answer.get("status")
    if forbidden:
        return certain, f"with {forbidden} nothing is downloaded", ENDS
    if status == 0 and not answer.get("certificate"):
        return certain, f"{host} does not answer to this node: {answer.get('trouble')}", ENDS
    if status in (401, 403):
        has_token = "HF_TOKEN" in context.run.secrets or view.get("hub.model.has_token")
        reason = f"{host} does not give it to everybody ({status}), and its ranks have no token (secrets: [HF_TOKEN])"
        return None if has_token else (WARN, reason, ENDS)
    if status in (200, 429) and len(context.machines) > 1:
        return WARN, f"it would download it from {host}", "the others wait meanwhile, up to the time-out."
    if status in (200, 429):
        return None
    reason = (
        view.facts.why_unreadable("hub.reach")
        or answer.get("trouble")
        or (answer and f"{host} answers {status}")
    )
    return WARN, f"whether it can download it is not known ({reason or 'it did not ask'})", ENDS
