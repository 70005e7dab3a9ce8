"""What an image's name means: its digest where a registry gave one, else its id."""

from __future__ import annotations

import asyncio
import contextlib
import json
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.prepare import images
from allranks.prepare.failures import NotReady
from allranks.prepare.images import identity, pinned, short, without_tag
from allranks.transport import Completed

ID = "sha256:" + "ab" * 32
FOUND = {"Id": ID, "RepoDigests": ["hiyouga/llamafactory@sha256:11", "mirror:5000/llamafactory@sha256:22"]}


@pytest.mark.parametrize(
    ("asked", "reference"),
    [
        ("hiyouga/llamafactory:latest", "hiyouga/llamafactory@sha256:11"),
        ("hiyouga/llamafactory", "hiyouga/llamafactory@sha256:11"),
        ("docker.io/hiyouga/llamafactory:0.9.5", "hiyouga/llamafactory@sha256:11"),
        ("mirror:5000/llamafactory:0.9.5", "mirror:5000/llamafactory@sha256:22"),
        ("hiyouga/llamafactory@sha256:33", "hiyouga/llamafactory@sha256:33"),
        ("another/name", ID),
    ],
)
def test_a_tag_is_resolved_to_the_digest_of_its_own_registry(asked: str, reference: str) -> None:
    assert pinned(asked, FOUND) == reference


def test_an_image_that_no_registry_knows_is_its_id() -> None:
    assert pinned("built-here", {"Id": "ab" * 32}) == ID


@pytest.mark.parametrize(("reference", "differs"), [("hiyouga/llamafactory@sha256:11", False), (ID, True)])
def test_one_digest_is_one_image_whatever_the_stores_call_it(reference: str, differs: bool) -> None:
    """With containerd's store an image's id is that of its manifest."""

    class There:
        async def run(self, argv: list[str], **_: object) -> Completed:
            return Completed(0, json.dumps([{**FOUND, "Id": "sha256:" + "cd" * 32}]).encode(), b"")

    program: Any = SimpleNamespace(transport=There(), node="node-1")
    wanted = images.Image("hiyouga/llamafactory:latest", reference, ID)
    with pytest.raises(NotReady, match="on the head") if differs else contextlib.nullcontext():
        asyncio.run(images.ensure(program, "docker", wanted))


def test_a_port_is_no_tag() -> None:
    assert without_tag("host:5000/a/b") == "host:5000/a/b"
    assert without_tag("host:5000/a/b:1") == "host:5000/a/b"


def test_ids_are_shown_as_the_engines_do() -> None:
    assert short(identity({"Id": ID})) == "ab" * 6
