"""The config.json that this machine fetches from the Hub, and what is said if there is none."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from allranks.cli import main
from allranks.node import hub_request
from allranks.runs import hub_config
from allranks.runs.inspection import judge, planned
from tests.hub.folders import MODEL, PARAMETERS, a_run, keep
from tests.hub.server import PATH, Server

TOKEN = "test-token-that-nobody-may-see"


def finding(run):
    (one,) = planned(run).findings
    assert (one.id, one.verdict) == ("model-config-unreadable", "unknown")
    assert "--accept model-config-unreadable" in one.fix and "model_name_or_path: /PATH" in one.fix
    assert TOKEN not in str(one.as_json())
    return one


def test_a_model_that_is_nowhere_here_is_planned_with_the_hubs_config(online: Server) -> None:
    online.gives()
    plan = planned(a_run())
    assert plan.model.total_parameters == PARAMETERS and plan.findings == ()
    assert judge(a_run(), []).plan.model is not None
    assert online.seen == [(PATH, None)], "it is asked once, without a token"


def test_plan_exits_with_0_as_the_hub_knows_the_model_and_with_3_if_not(
    online, tmp_path, capsys, home
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(a_run().text)
    assert main(["plan", str(file)]) == 3
    hub_config.asked.cache_clear()
    online.gives()
    assert main(["plan", str(file)]) == 0
    assert "494,032,768 parameters" in capsys.readouterr().out


def test_a_cache_comes_before_the_hub(online: Server, machine: Path) -> None:
    keep(machine / ".cache/huggingface/hub")
    assert planned(a_run()).model is not None and online.seen == []


@pytest.mark.parametrize("key", ["model_revision", "revision"])
def test_the_revision_is_the_runs(online: Server, key: str) -> None:
    online.gives(f"/{MODEL}/resolve/refs%2Fpr%2F1/config.json")
    assert planned(a_run(**{key: "refs/pr/1"})).model is not None


@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
@pytest.mark.parametrize("of_run", [True, False])
def test_offline_the_hub_is_not_asked(online: Server, monkeypatch, name: str, of_run: bool) -> None:
    if not of_run:
        monkeypatch.setenv(name, "1")
    assert f"was not asked ({name}=1)" in finding(a_run(f'env: {{{name}: "1"}}' if of_run else "")).saw
    assert online.seen == []


@pytest.mark.parametrize(
    ("status", "code", "saw", "fix"),
    [
        (401, "GatedRepo", "does not give Qwen/Qwen2.5-0.5B to everybody", "ask for access"),
        (403, "", "without a token and answered 403", "secrets: [HF_TOKEN]"),
        (401, "RepoNotFound", "has no model Qwen/Qwen2.5-0.5B", "correct model_name_or_path"),
        (404, "", "has no model Qwen/Qwen2.5-0.5B", "correct model_name_or_path"),
        (404, "RevisionNotFound", "has no revision main of", "model_revision"),
        (404, "EntryNotFound", "has no config.json", "another model"),
        (429, "[bold]x", "it answered 429", "try again later"),
        (500, "", "it answered 500", "try again later"),
    ],
)
def test_each_refusal_has_its_reason_and_its_fix(online: Server, status, code, saw, fix) -> None:
    online.gives(status=status, X_Error_Code=code)
    one = finding(a_run())
    assert saw in one.saw and fix in one.fix and "bold" not in one.saw


def test_a_hub_that_is_not_there_is_unreachable(machine: Path, monkeypatch) -> None:
    with socket.socket() as bound:  # it is bound and does not listen: nobody else gets this port meanwhile
        bound.bind(("127.0.0.1", 0))
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{bound.getsockname()[1]}")
        one = finding(a_run())
    assert "could not be reached" in one.saw and "Connection refused" in one.saw
    assert "HF_ENDPOINT of a mirror" in one.fix


def test_a_hub_that_does_not_answer_is_given_up(online: Server, monkeypatch) -> None:
    monkeypatch.setattr(hub_config, "SECONDS", 0.2)
    online.hold.clear()
    assert "could not be reached" in finding(a_run()).saw


@pytest.mark.parametrize(
    ("body", "saw"),
    [
        (b"[]", "not a JSON object"),
        (b"<html>", "not a JSON object"),
        (b"\xff\xfe", "not a JSON object"),
        (b"[" * 100_000, "not a JSON object"),
        (b'{"x": "' + b"x" * (1 << 20) + b'"}', "larger than 1,048,576 bytes"),
        (b'{"model_type": "\\u001b[31m../../x"}', "'\\x1b[31m../../x' is not one of the"),
    ],
)
def test_what_the_hub_answers_is_data(online: Server, monkeypatch, body: bytes, saw: str) -> None:
    monkeypatch.setattr(hub_config.hub_request, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr("allranks.runs.local_inputs.pythons", lambda _python: [])
    online.gives(body=body)
    (one,) = planned(a_run()).findings
    assert saw in one.saw and "\x1b" not in one.saw and one.verdict == "unknown"


# ---- the token ----


@pytest.mark.parametrize("way", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HOME", ""])
def test_the_users_token_goes_to_the_users_endpoint(online: Server, machine: Path, monkeypatch, way) -> None:
    folder = machine / "elsewhere" if way else machine / ".cache" / "huggingface"
    folder.mkdir(parents=True)
    (folder / "token").write_text(TOKEN + "\n")
    values = {"HF_TOKEN_PATH": str(folder / "token"), "HF_HOME": str(folder)}
    if way:
        monkeypatch.setenv(way, values.get(way, TOKEN))
    online.gives(status=403)
    assert "with this user's token and answered 403" in finding(a_run()).saw
    assert online.seen == [(PATH, f"Bearer {TOKEN}")]


def test_an_endpoint_that_only_the_run_file_names_gets_no_token(online: Server, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.delenv("HF_ENDPOINT")
    online.gives()
    assert planned(a_run(f"env: {{HF_ENDPOINT: '{online.base}'}}")).model is not None
    assert online.seen == [(PATH, None)]


def test_a_redirect_to_another_host_carries_no_token(online: Server, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with Server() as other:
        online.gives(status=307, Location="/moved")
        online.gives("/moved", status=302, Location=f"{other.base}/there")
        other.gives("/there", status=302, Location=f"{online.base}/back")
        online.gives("/back")
        assert planned(a_run()).model is not None
        bearer = f"Bearer {TOKEN}"
        assert online.seen == [(PATH, bearer), ("/moved", bearer), ("/back", None)]
        assert other.seen == [("/there", None)]


@pytest.mark.parametrize("to", ["http://192.0.2.1/x", "file:///etc/passwd", "ftp://192.0.2.1/x", "//["])
def test_a_redirect_elsewhere_is_not_followed(online: Server, to: str) -> None:
    online.gives(status=302, Location=to)
    assert "a redirect: it " in finding(a_run()).saw


def test_a_redirect_from_https_leads_to_no_port_of_this_machine(online: Server, monkeypatch) -> None:
    monkeypatch.setattr(hub_request, "_once", lambda *_: online.base + "/x")
    answer = hub_request.fetch("https://example.invalid", MODEL, "main", 1.0)
    assert answer.trouble == "a redirect: it does not begin with https://" and online.seen == []


def test_redirects_end(online: Server) -> None:
    online.gives(status=302, Location=PATH)
    assert "more than 5 redirects" in finding(a_run()).saw


@pytest.mark.parametrize(
    ("base", "saw"),
    [
        ("http://192.0.2.1", "does not begin with https://"),
        ("https://user:pw-of-me@example.invalid", "it has a user or a password"),
        ("ftp://example.invalid", "does not begin with https://"),
        ("https://", "it is not an address"),
        ("https://exam ple", "it is not an address"),
    ],
)
def test_an_endpoint_that_is_not_https_is_not_asked(machine: Path, monkeypatch, base: str, saw: str) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", base)
    one = finding(a_run())
    assert saw in one.saw and "was not asked" in one.saw and "pw-of-me" not in str(one.as_json())


def test_a_token_that_no_header_can_hold_is_not_sent(online: Server, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "a\nX-Other: b")
    online.gives()
    assert planned(a_run()).model is not None and online.seen == [(PATH, None)]
