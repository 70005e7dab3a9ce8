"""Passwords and tokens that a foreign log or command holds are hidden; what only looks like one is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks.core.secret_forms import HIDDEN, without_secrets
from allranks.diagnose import diagnose, parse

SECRET = "821aeebd32f34b238e99e1282b9eb935"


@pytest.mark.parametrize(
    "text",
    [
        "url: https://news.example/v2?q=owls&apiKey={}",
        "config: {{'api_key': '{}', 'owls': 3}}",
        '{{"access_token": "{}"}}',
        "python train.py --hf-token={} --lr 1e-4",
        "WANDB_API_KEY={}",
        "aws_secret_access_key = {}",
        "headers: Authorization: Bearer {}",
        "connects to postgres://owl:{}@db/owls",
        "login failed: password={}",
    ],
)
def test_a_secret_is_hidden_by_its_name_or_its_place(text: str) -> None:
    said = text.format(SECRET)
    assert SECRET not in without_secrets(said) and HIDDEN in without_secrets(said)
    found = diagnose(parse(f"RuntimeError: CUDA out of memory. Tried to allocate 3 GiB; {said}\n", "x.log"))
    assert found.evidence and not any(SECRET in line for line in found.evidence)


@pytest.mark.parametrize(
    "token", ["hf_" + "aB3" * 12, "ghp_" + "x9" * 15, "sk-" + "ant3" * 8, "AKIA" + "ABCD" * 4]
)
def test_a_token_is_hidden_by_its_form(token: str) -> None:
    assert without_secrets(f"owl {token} owl") == f"owl {HIDDEN} owl"


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'labels'",
        "pad_token: '<|endoftext|>', eos_token='</s>'",
        "max_new_tokens=40960 num_key_value_heads: 128000",
        "api_key=os.environ['OPENAI_API_KEY']",
        "api_key=get_key(owls)",
        "Permission denied (publickey,password).",
        'Unexpected key(s) in state_dict: "module.encoder.weight"',
        "private_key: None",
        "The bearer of owls is gone",
        "https://owl.example:8080/path@3",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


@given(st.text(max_size=200))
def test_what_is_hidden_once_stays_so(text: str) -> None:
    once = without_secrets(text)
    assert without_secrets(once) == once
