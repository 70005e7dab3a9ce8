"""Stretches against values: what is joined, cut and read a part at a time is what the values would be."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.worker import tensor_origin
from allranks.worker.tensor_origin import Stretch, between, joined, merged, narrowed
from allranks.worker.weight_files import numel

Value = tuple[str, int]
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def values(stretches) -> list[Value]:
    return [(one.name, one.first + number) for one in stretches for number in range(one.length)]


def at(place: tuple[int, ...], shape: tuple[int, ...]) -> int:
    number = 0
    for index, length in zip(place, shape, strict=True):
        number = number * length + index
    return number


def places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for length in shape:
        found = [(*place, index) for place in found for index in range(length)]
    return found


@st.composite
def tensors(draw) -> tuple[int, list[tuple[tuple[int, ...], list[Stretch]]]]:
    """A dimension, and tensors that differ only in it; each in one stretch or in two."""
    shape, made = draw(SHAPES), []
    dim = draw(st.integers(0, len(shape) - 1))
    for number in range(draw(st.integers(1, 3))):
        one = (*shape[:dim], draw(st.integers(1, 4)), *shape[dim + 1 :])
        cut = draw(st.integers(0, numel(one)))
        made.append((one, [Stretch(f"a{number}", 5, cut), Stretch(f"b{number}", 0, numel(one) - cut)]))
    return dim, made


@settings(max_examples=60)
@given(tensors(), st.data())
def test_joined_and_cut_again(made, data) -> None:
    dim, parts = made
    found = joined(parts, dim)
    length = sum(shape[dim] for shape, _ in parts)
    whole = (*parts[0][0][:dim], length, *parts[0][0][dim + 1 :])
    wanted = []
    for place in places(whole):
        index = place[dim]
        for shape, stretches in parts:
            if index < shape[dim]:
                inner = (*place[:dim], index, *place[dim + 1 :])
                wanted.append(values(stretches)[at(inner, shape)])
                break
            index -= shape[dim]
    assert values(found) == wanted
    start = 0
    for shape, stretches in parts:  # each is there again if it is cut out
        assert values(narrowed(whole, found, dim, start, shape[dim])) == values(stretches)
        start += shape[dim]
    ranks = data.draw(st.integers(1, 5))
    size = -(-numel(whole) // ranks)
    cut = [between(found, rank * size, min((rank + 1) * size, numel(whole))) for rank in range(ranks)]
    assert [value for one in cut for value in values(one)] == wanted


def test_neighbours_are_read_at_once() -> None:
    assert merged([Stretch("a", 0, 2), Stretch("a", 2, 3), Stretch("a", 6, 1), Stretch("b", 7, 0)]) == [
        Stretch("a", 0, 5),
        Stretch("a", 6, 1),
    ]


def test_single_rows_are_not_worth_it() -> None:
    rows = tensor_origin.MOST_STRETCHES
    halves = [((rows, 1), [Stretch("a", 0, rows)]), ((rows, 1), [Stretch("b", 0, rows)])]
    assert joined(halves, 1) is None and len(joined(halves, 0)) == 2
    assert narrowed((rows + 1, 2), [Stretch("a", 0, 2 * rows + 2)], 1, 0, 1) is None


def test_what_is_written_to_or_joined_in_an_unknown_way_has_no_origin() -> None:
    import torch

    traced = tensor_origin.tracer(torch)
    one, other = (traced(name, (2, 3), torch.float32) for name in "ab")
    assert one.contiguous().stretches == one.stretches == (Stretch("a", 0, 6),)
    joined_rows = (Stretch("a", 0, 6), Stretch("b", 0, 6))
    assert (
        torch.cat([one, other]).stretches == torch.cat(tensors=[one, other], dim=0).stretches == joined_rows
    )
    assert torch.cat([one, other], axis=1).stretches is None  # type: ignore[call-overload]
    view = one.view(6)
    one[0] = other[0]
    assert one.stretches is None and view.stretches is None and other.stretches == (Stretch("b", 0, 6),)
    other.view(6).zero_()
    assert other.stretches is None and other.names == {"b"}
