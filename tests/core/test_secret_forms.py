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
        "{{'Authorization': 'Basic {}'}}",
        "connects to postgres://owl:{}@db/owls",
        "login failed: password={}",
        r"{{\"api_key\": \"{}\"}}",
        "python train.py --api-key {} --lr 1e-4",
        "Command '['python', 't.py', '--wandb-api-key', '{}']' returned 1",
        "API key: {}",
        "WANDB_API_KEY: {}",
        "wandb login {}8e8e8e8e",
        "DB_PASS={}",
        'password="{}(owls)9"',
        "password={};and the rest",
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
        "a basic resnet50-backbone",
        "https://owl.example:8080/path@3",
        "cat: /etc/passwd: Permission denied",
        "Invalid password: incorrect",
        "KeyError in session_key: 'optimizer.state'",
        "private-key: /home/u/.ssh/id_rsa",
        "client_key=torch.float16",
        "api_key=$WANDB_API_KEY",
        "the access token expired in 3600 seconds",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


PARTS = [
    "password=",
    "api_key: ",
    "hf_" + "aB3" * 8,
    "://a:",
    "b1c2@",
    '"',
    "'",
    " ",
    SECRET,
    "owl",
    "=",
    "Bearer ",
]


@given(st.lists(st.sampled_from(PARTS), max_size=12))
def test_what_is_hidden_once_stays_so(parts: list[str]) -> None:
    once = without_secrets("".join(parts))
    assert without_secrets(once) == once
    assert "aB3aB3aB3" not in once


def test_a_secret_is_hidden_also_if_only_the_part_around_the_cause_is_shown() -> None:
    text = (
        "x " * 150
        + f"WANDB_API_KEY={SECRET} "
        + "z" * 92
        + " torch.OutOfMemoryError: CUDA out of memory. Tried to"
    )
    found = diagnose(parse(text + " allocate 3 GiB\n", "x.log"))
    assert found.evidence and not any(SECRET[8:] in line for line in found.evidence)
    assert any("CUDA out of memory" in line for line in found.evidence)
