"""`clean RUN --cache`: the folder that a run's jobs name, and nothing else in it than parts."""

from __future__ import annotations

from pathlib import Path

from allranks.core import cache_folder
from allranks.node import base_cache, paths

PART = f"{'a' * 16}-{'b' * 32}-r0.part"


def run(cache: Path) -> paths.RunDirectory:
    directory = paths.RunDirectory("r-1")
    for name in ("node-0", "node-1"):  # one home for two nodes
        directory.create(node=name)
        paths.write_json(directory.node(name).job, {"env": {cache_folder.PATH: str(cache)}})
    return directory


def test_the_cache_that_the_jobs_name(home: Path, tmp_path: Path) -> None:
    run(tmp_path / "cache")
    assert base_cache.clean("r-1", dry_run=False) == []  # nobody wrote there
    made = cache_folder.opened(str(tmp_path / "cache"))
    assert made is not None
    made.close()
    inner = Path(made.path)
    (inner / PART).write_bytes(b"x" * 5000)
    (inner / "other.safetensors").write_bytes(b"x")
    (tmp_path / "cache" / "mine").write_bytes(b"x")
    (told,) = base_cache.clean("r-1", dry_run=True)
    assert told["path"] == str(inner) and told["bytes"] >= 5000 and told["kept"] == ["other.safetensors"]
    assert (inner / PART).exists()
    assert base_cache.clean("r-1", dry_run=False) == [told]
    assert not (inner / PART).exists()
    assert (inner / "other.safetensors").exists() and (tmp_path / "cache" / "mine").exists()


def test_a_folder_that_is_not_safe_is_said_and_left_alone(home: Path, tmp_path: Path) -> None:
    run(tmp_path / "cache")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / PART).write_bytes(b"x")
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "cache" / cache_folder.own_name()).symlink_to(tmp_path / "models")
    (told,) = base_cache.clean("r-1", dry_run=False)
    assert "is a link" in told["error"] and (tmp_path / "models" / PART).exists()


def test_a_run_without_a_cache(home: Path) -> None:
    directory = paths.RunDirectory("r-2")
    directory.create(node="node-0")
    paths.write_json(directory.node("node-0").job, {"env": {"A": "b"}})
    assert base_cache.clean("r-2", dry_run=False) == [] == base_cache.clean("r-3", dry_run=True)
