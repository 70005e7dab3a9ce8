"""The digest of a batch, on real tensors, and who may share one."""

from __future__ import annotations

import types
from collections import UserDict

import pytest
import torch

from allranks.worker import digest, guard

pytestmark = pytest.mark.training


@pytest.fixture(autouse=True)
def no_trouble():
    yield
    assert guard.TROUBLE == []


def rows(seed: int, **more: object) -> dict:
    drawn = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 9000, (4, 512), generator=drawn)
    return {"input_ids": ids, "mask": torch.ones_like(ids, dtype=torch.bool), "names": ["a"] * 4, **more}


def test_equal_batches_have_one_digest_and_others_another() -> None:
    assert digest.batch(rows(1)) == digest.batch(rows(1)) != digest.batch(rows(2))
    assert digest.batch(UserDict(rows(1))) == digest.batch(rows(1))  # transformers' BatchEncoding
    assert digest.batch((rows(1)["input_ids"].bfloat16(), [1.5])) is not None
    other = rows(1)
    other["input_ids"][3] += 1
    assert digest.batch(other) != digest.batch(rows(1))
    assert digest.batch(rows(1, names=["b"] * 4)) != digest.batch(rows(1))


@pytest.mark.parametrize(
    "batch",
    [
        torch.zeros(8, 8),  # made up: it would be the same on every rank
        torch.randn(8, device="meta"),  # as good as a GPU's
        {"input_ids": torch.arange(8), "graph": types.SimpleNamespace()},
        torch.eye(3).to_sparse(),
        [],
        None,
        "text",
    ],
)
def test_a_batch_that_says_nothing_has_none(batch: object) -> None:
    assert digest.batch(batch) is None


def test_a_pass_over_all_data_before_the_training_says_nothing() -> None:
    first = digest.FirstBatch()
    for _ in range(digest.BATCHES):
        first.take(torch.arange(3), range(12))
    assert first.digest is not None and first.samples == 12
    first.take(torch.arange(3), range(12))
    assert first.digest is None


def test_the_length_of_the_data_is_asked_once() -> None:
    class Data:
        asked = 0

        def __len__(self) -> int:
            self.asked += 1
            return 12

    first, dataset = digest.FirstBatch(), Data()
    for _ in range(3):
        first.take(torch.arange(3), dataset)
    assert (first.samples, dataset.asked) == (12, 1)
    first.take(torch.arange(3), iter(()))  # a stream has none
    assert first.samples is None


def test_a_large_tensor_that_lies_scattered_is_not_copied() -> None:
    scattered = torch.randn(1200, 1000).t()
    assert digest.batch(scattered) is None and digest.batch(scattered.contiguous()) is not None
    assert digest.batch(torch.randn(8, 6).t()) is not None


def mesh(*names: str | None) -> types.SimpleNamespace:
    return types.SimpleNamespace(mesh_dim_names=None if None in names else names, ndim=len(names))


@pytest.mark.parametrize(
    ("parameter", "shared"),
    [
        ({}, False),
        ({"tensor_model_parallel": True}, True),
        ({"device_mesh": mesh("dp_replicate", "dp_shard")}, False),
        ({"device_mesh": mesh("dp", "tp")}, True),
        ({"device_mesh": mesh(None, None)}, True),
    ],
)
def test_ranks_that_hold_parts_of_a_tensor_share_a_batch(parameter: dict, shared: bool) -> None:
    assert digest.shares_batches(None, [types.SimpleNamespace(**parameter)]) is shared


@pytest.mark.parametrize("name", ["mp_world_size", "sequence_parallel_size", "num_stages"])
def test_so_do_deepspeeds(name: str) -> None:
    assert digest.shares_batches(types.SimpleNamespace(**{name: 2}), []) is True
    assert digest.shares_batches(types.SimpleNamespace(**{name: 1}), []) is False


def test_so_do_accelerates(monkeypatch: pytest.MonkeyPatch) -> None:
    config = types.SimpleNamespace(tp_size=2, cp_size=1)
    state = types.SimpleNamespace(_shared_state={"parallelism_config": config})
    monkeypatch.setattr(
        guard, "loaded", {"accelerate.state": types.SimpleNamespace(AcceleratorState=state)}.get
    )
    assert digest.shares_batches(None, []) is True
    config.tp_size = 1
    assert digest.shares_batches(None, []) is False
