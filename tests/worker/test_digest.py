"""The digest of what trains, on real parameters."""

from __future__ import annotations

import pytest
import torch

from allranks.worker import digest, settings

pytestmark = pytest.mark.training


def parameters(seed: int) -> list:
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.Linear(200, 7))
    model[1].bias.requires_grad_(False)
    return list(model.parameters())


def test_equal_replicas_have_one_digest_and_others_another() -> None:
    assert digest.trainable(parameters(1)) == digest.trainable(parameters(1))
    assert digest.trainable(parameters(1)) != digest.trainable(parameters(2))


def test_what_does_not_train_does_not_count() -> None:
    mine, theirs = parameters(1), parameters(1)
    with torch.no_grad():
        theirs[3].add_(1.0)
    assert digest.trainable(mine) == digest.trainable(theirs)
    with torch.no_grad():
        theirs[2].reshape(-1)[3] += 1e-3
    assert digest.trainable(mine) != digest.trainable(theirs)


@pytest.mark.parametrize("name", ["ds_id", "_is_flat_param", "_fsdp_flattened", "placements"])
def test_a_rank_that_holds_a_part_says_nothing(name: str) -> None:
    found = parameters(1)
    setattr(found[0], name, 1)
    assert digest.trainable(found) is None


@pytest.mark.parametrize("name", ["_is_flat_param", "_fsdp_flattened"])
def test_a_share_of_unknown_size_is_not_counted(name: str) -> None:
    found = parameters(1)
    whole = settings.parameters(found)
    setattr(found[0], name, True)
    assert whole[1] and settings.parameters(found) == (None, None)


def test_16_bit_parameters_have_one_too() -> None:
    assert digest.trainable([p.detach().bfloat16().requires_grad_() for p in parameters(1)]) is not None
    assert digest.trainable([]) is None
