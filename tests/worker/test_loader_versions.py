"""What the loader asks of the library that it covers, and what it says of files that are not as promised."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from allranks.worker import base_loading, collective, loader_hooks
from allranks.worker.base_cache import Damaged
from allranks.worker.base_loading import Attempt, BaseUnreadable, near
from allranks.worker.cached_reading import CachedReading
from allranks.worker.partition_plan import Doubt
from allranks.worker.partition_reading import Differs
from allranks.worker.weight_files import CannotRead
from allranks.worker.zero_construction import CONSTRUCTION


def in_5(model_to_load: Any, state_dict: Any, load_config: Any = None) -> Any:
    return model_to_load.named_buffers(), len(state_dict)


def in_4(model_to_load: Any, state_dict: Any) -> Any:
    def load(module: Any, prefix: str = "") -> Any:
        return [key for key in state_dict if key.startswith(prefix)]

    return load(model_to_load)


def in_4_50(model_to_load: Any, state_dict: Any, assign_to_params_buffers: bool = False) -> Any:
    return len(state_dict)


def in_another(model_to_load: Any, state_dict: Any) -> Any:
    def load() -> Any:
        return [one for one in map(lambda name: name.swapcase(), state_dict)]

    return load()


@pytest.mark.parametrize(
    ("into", "covers", "gives_buffers"),
    [(in_5, True, True), (in_4, True, False), (in_4_50, False, False), (in_another, False, False)],
)
def test_a_version_is_known_by_its_names_and_arguments(into: Any, covers: bool, gives_buffers: bool) -> None:
    class PreTrainedModel:
        @classmethod
        def from_pretrained(cls) -> None:
            """Loads a model."""

    module = SimpleNamespace(
        PreTrainedModel=PreTrainedModel, load_state_dict=in_4, _load_state_dict_into_zero3_model=into
    )
    rank: Any = SimpleNamespace(notes=[])
    loader = loader_hooks.Loader(rank, module)
    loader.cover()
    assert (module._load_state_dict_into_zero3_model is not into) == covers
    assert bool(rank.notes) != covers and loader.gives_buffers == gives_buffers


@pytest.mark.parametrize(
    ("left", "name", "wanted"),
    [
        ("model.layers.1.mlp.experts.gate_up_proj", "layers.1.mlp.experts.7.up_proj.weight", True),
        ("layers.1.norm.weight", "model.layers.1.norm.weight", True),
        ("layers.1.norm.weight", "model.layers.11.norm.weight", False),
        ("score.weight", "lm_head.weight", False),
        ("cls_token", "cls_token", True),
    ],
)
def test_the_names_that_may_be_a_part_of_what_is_missing(left: str, name: str, wanted: bool) -> None:
    assert near([left], "model")(name) == wanted


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the other ranks say, after this one."""
    others: list[dict[str, Any]] = []
    monkeypatch.setattr(collective, "texts_of_all", lambda told, size: [told, *others])
    monkeypatch.setattr(CONSTRUCTION, "is_agreed", True)
    monkeypatch.setattr(CONSTRUCTION, "left_blank", lambda model: None)
    return others


def test_a_rank_at_its_end_hears_of_one_that_has_another_file(answers: list[dict[str, Any]]) -> None:
    attempt = Attempt(SimpleNamespace(place=None), False)  # type: ignore[arg-type]
    answers.append({"host": "b", "left": "", "end": True})
    attempt.check_given(None)
    answers.append({"host": "c", "outline": "x"})
    with pytest.raises(BaseUnreadable, match=r"rank 2 reads \(c\).*one of them has more files"):
        attempt.check_given(None)
    answers[1:] = [{"host": "c", "left": "a.weight", "end": True}]
    with pytest.raises(Doubt, match=r"a\.weight is not in the files"):
        attempt.check_given(None)


@pytest.mark.parametrize(
    ("error", "is_refused"),
    [(Damaged("torn"), True), (Differs("a"), True), (CannotRead("its scales"), False)],
)
def test_a_good_part_of_the_cache_outlives_a_base_that_cannot_be_read(
    error: Exception, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []
    part = SimpleNamespace(read=None, check=lambda: None, close=lambda: None)
    cache: Any = SimpleNamespace(
        part=lambda layout: part, refuse=lambda layout, why: refused.append(why), notes=[]
    )
    reading = CachedReading(SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]

    def fill_all(*given: Any) -> None:
        raise error

    monkeypatch.setattr(reading, "fill_all", fill_all)
    plan: Any = SimpleNamespace(own=[])
    if is_refused:
        assert reading.from_cache(cache, {}, plan, None, lambda count: None) is False
    else:
        with pytest.raises(CannotRead, match="its scales"):
            reading.from_cache(cache, {}, plan, None, lambda count: None)
    assert bool(refused) == is_refused


def test_a_rank_with_another_file_hears_of_one_at_its_end(
    answers: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_loading.partition_plan, "outline", lambda model: "x")
    attempt = Attempt(SimpleNamespace(place=None), False)  # type: ignore[arg-type]
    attempt.doubt = "nothing to plan"
    answers.append({"host": "b", "left": "", "end": True})
    with pytest.raises(BaseUnreadable, match="one of them has more files"):
        attempt.agreed_plan(None, {})
