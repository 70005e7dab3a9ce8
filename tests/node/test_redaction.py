"""Secrets: found in every form that programs write, masked without moving a byte, forgotten at the end."""

from __future__ import annotations

import base64
import contextlib
import html
import json
import os
import stat
import subprocess
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.node import log_redaction, secret_store
from allranks.node.log_redaction import LogRedactor, files_with_secrets
from allranks.node.paths import RunDirectory
from allranks.node.redaction import MASK, Redactor, too_short
from allranks.node.secret_store import SecretStore

SECRET = 'hf_"C4n/ry+ä <t0ken>'

FORMS = {
    "itself": SECRET,
    "json": json.dumps(SECRET),
    "json in json": json.dumps({"line": SECRET}, ensure_ascii=False),
    "url": urllib.parse.quote(SECRET),
    "url, all": urllib.parse.quote(SECRET, safe=""),
    "url, plus": urllib.parse.quote_plus(SECRET),
    "url, lower": urllib.parse.quote(SECRET, safe="").lower().replace("hf_%22c4n", "hf_%22C4n"),
    "html": html.escape(SECRET),
    "repr": repr(SECRET),
    "hex": SECRET.encode().hex(),
    "basic, aligned": base64.b64encode(b"abc" + SECRET.encode()).decode(),
    "basic, by 1": base64.b64encode(b"user:" + SECRET.encode() + b"tail").decode(),
    "basic, by 2": base64.urlsafe_b64encode(b"u:" + SECRET.encode() + b"@").decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_found(form):
    redactor = Redactor([SECRET])
    line = f"before {FORMS[form]} after"
    assert MASK in redactor.text(line)
    assert redactor.text(line).startswith("before ") and redactor.text(line).endswith(" after")
    masked = redactor.mask(line.encode())
    assert b"*" in masked and len(masked) == len(line.encode())
    assert SECRET.encode() not in masked


def test_each_line_of_a_key_is_a_secret():
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n"
    text = Redactor([key]).text("".join(f"[rank0] {line}\n" for line in key.splitlines()))
    assert "MIIEv" not in text and "kqhki" not in text


def test_values_that_cannot_be_hidden_are_known_as_such():
    assert [too_short(value) for value in ("", "1", "12345", "123456")] == [False, True, True, False]
    assert not Redactor(["1", ""]) and Redactor(["1"]).text("step 1") == "step 1"


def test_json_values_are_redacted_in_keys_and_depth_and_nothing_else_changes():
    value = {"a": [1, 2.5, None, True, {"token-abc": "x token-abc y"}], "b": "fine"}
    assert Redactor(["token-abc"]).json(value) == {
        "a": [1, 2.5, None, True, {MASK: f"x {MASK} y"}],
        "b": "fine",
    }
    assert Redactor([]).json(value) is value


def test_the_longest_form_wins_so_that_no_rest_stays():
    assert Redactor(["secret", "secret-longer"]).text("secret-longer") == MASK


def test_what_may_be_the_beginning_of_a_secret_is_known():
    redactor = Redactor(["abcdefgh"])
    blocks = (b"x", b"xa", b"xabcdefg", b"abcdefgh\n", b"")
    assert [redactor.unfinished(block) for block in blocks] == [0, 1, 7, 0, 0]


@settings(max_examples=150)
@given(st.text(min_size=6, max_size=40), st.binary(max_size=50), st.binary(max_size=50))
def test_no_secret_survives_masking_and_no_byte_moves(secret, before, after):
    raw = (
        secret.encode("utf-8", "surrogatepass") if secret.isprintable() else secret.encode("utf-8", "replace")
    )
    secret = raw.decode("utf-8", "replace")
    masked = Redactor([secret]).mask(before + secret.encode() + after)
    assert len(masked) == len(before + secret.encode() + after)
    if len(secret) >= 6 and set(secret) != {"*"}:
        assert secret.encode() not in masked


@settings(max_examples=60)
@given(st.data())
def test_a_scrubber_finds_a_secret_however_it_was_written_in_pieces(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("logs")
    secret = b"s3cr3t-canary"
    text = data.draw(st.binary(max_size=30)) + secret + data.draw(st.binary(max_size=30)) + secret
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    scrubber = LogRedactor(Redactor([secret.decode()]), [str(folder)])
    with open(folder / "rank-0.log", "ab", buffering=0) as log:
        for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            log.write(text[begin:end])
            scrubber.turn()
    stored = (folder / "rank-0.log").read_bytes()
    assert secret not in stored and len(stored) == len(text)


def test_a_log_longer_than_a_block_is_masked_at_the_blocks_edge(tmp_path, monkeypatch):
    monkeypatch.setattr("allranks.node.log_redaction.BLOCK_BYTES", 100)
    path = tmp_path / "rank-0.log"
    path.write_bytes((b"x" * 93 + b"s3cr3t-canary") * 20)
    LogRedactor(Redactor(["s3cr3t-canary"]), [str(tmp_path)]).turn()
    assert b"canary" not in path.read_bytes() and path.stat().st_size == 106 * 20


def test_an_unchanged_log_is_not_read_again(tmp_path, monkeypatch):
    (tmp_path / "rank-0.log").write_bytes(b"nothing")
    scrubber = LogRedactor(Redactor(["s3cr3t-canary"]), [str(tmp_path)])
    scrubber.turn()
    read = []
    monkeypatch.setattr("allranks.node.log_redaction.os.pread", lambda *words: read.append(words) or b"")
    scrubber.turn()
    assert read == []
    (tmp_path / "rank-0.log").write_bytes(b"nothing more")
    scrubber.turn()
    assert read != []


def test_files_outside_are_never_changed_through_links(tmp_path):
    outside, logs = tmp_path / "outside.txt", tmp_path / "logs"
    logs.mkdir()
    outside.write_text("s3cr3t-canary")
    os.symlink(outside, logs / "link.log")
    os.link(outside, logs / "hard.log")
    os.mkfifo(logs / "fifo.log")
    LogRedactor(Redactor(["s3cr3t-canary"]), [str(logs)]).turn()
    assert outside.read_text() == "s3cr3t-canary"


def test_the_scripts_own_files_are_named_not_changed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json").write_text('{"token": "s3cr3t-canary"}')
    (tmp_path / "fine.txt").write_text("nothing")
    redactor = Redactor(["s3cr3t-canary"])
    assert files_with_secrets(redactor, str(tmp_path)) == [str(tmp_path / "a" / "config.json")]
    assert "s3cr3t" in (tmp_path / "a" / "config.json").read_text()


@pytest.fixture
def vault(home):
    directory = RunDirectory("r-vault")
    directory.create(node="node-0")
    vault = SecretStore(directory, "node-0")
    yield vault
    vault.destroy()


def test_the_vault_lies_in_memory_and_is_private(vault):
    path = vault.keep({"HF_TOKEN": "s3cr3t-canary"})
    assert path.startswith(("/dev/shm/", "/run/")) and stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert vault.values() == {"HF_TOKEN": "s3cr3t-canary"}
    vault.destroy()
    assert not os.path.exists(path) and vault.values() == {} and vault.path() is None


def test_a_vault_that_went_is_written_again(vault):
    path = vault.keep({"A": "s3cr3t-canary"})
    os.unlink(path)
    again = vault.keep({"A": "s3cr3t-canary"})
    assert again not in (None, path) and vault.values(), "nobody can take its name first"
    assert vault.keep({"A": "another"}) == again


def test_nothing_to_keep_makes_no_file(vault):
    assert vault.keep({}) is None and vault.path() is None


def test_a_link_or_an_open_file_in_the_vaults_place_is_not_used(vault, tmp_path):
    path = vault.keep({"A": "s3cr3t-canary"})
    os.unlink(path)
    (tmp_path / "theirs").write_text('{"A": "planted"}')
    os.symlink(tmp_path / "theirs", path)
    try:
        assert vault.values() == {}
        other = vault.keep({"A": "s3cr3t-canary"})
        assert other != path and vault.values() == {"A": "s3cr3t-canary"}
        os.unlink(other)
        os.unlink(path)
        (tmp_path / "open").write_text('{"A": "planted"}')
        os.chmod(tmp_path / "open", 0o644)
        os.rename(tmp_path / "open", path) if os.stat(tmp_path).st_dev == os.stat("/dev/shm").st_dev else None
        assert vault.values() == {}
    finally:
        if os.path.lexists(path):
            os.unlink(path)


def test_a_rank_that_never_stops_writing_holds_nobody_up(tmp_path, monkeypatch):
    path = tmp_path / "rank-0.log"
    path.write_text(f"a {SECRET} b\n")
    read, reads = os.pread, []

    def growing(descriptor, count, offset):
        reads.append(offset)
        with path.open("a") as file:
            file.write(f"{SECRET}\n")
        assert len(reads) < 10
        return read(descriptor, count, offset)

    monkeypatch.setattr(os, "pread", growing)
    scrubber = LogRedactor(Redactor([SECRET]), [str(tmp_path)])
    scrubber.turn()
    monkeypatch.setattr(os, "pread", read)
    scrubber.turn()
    assert SECRET not in path.read_text()


def test_the_look_at_the_scripts_files_ends_in_time(tmp_path, monkeypatch):
    (tmp_path / "a").write_text(SECRET)
    assert files_with_secrets(Redactor([SECRET]), str(tmp_path)) == [str(tmp_path / "a")]
    monkeypatch.setattr(log_redaction, "LOOK_SECONDS", -1.0)
    assert files_with_secrets(Redactor([SECRET]), str(tmp_path)) == []


@pytest.fixture
def full(tmp_path):
    """A folder in memory that is full."""
    place = tmp_path / "shm"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=True)
    try:
        with open(place / "nccl", "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_folder_in_memory_leaves_no_empty_vault(vault, full, monkeypatch, tmp_path):
    own = tmp_path / "runtime"
    own.mkdir()
    monkeypatch.setattr(secret_store, "PLACES", (str(full),))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert vault.keep({"A": "s3cr3t-canary"}) is None and os.listdir(full) == ["nccl"]
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(own))
    empty = full / f"{vault._name}0123"  # of a supervisor that was killed while it wrote
    empty.touch(0o600)
    path = vault.keep({"A": "s3cr3t-canary"})
    assert path is not None and path.startswith(str(own)) and vault.values() == {"A": "s3cr3t-canary"}
    vault.destroy()
    assert os.listdir(own) == [] and not empty.exists()
