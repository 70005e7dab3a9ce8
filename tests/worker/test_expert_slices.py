"""Which fused experts can be gathered in slices, by their form. How they train: test_lockstep.py."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import pytest

from allranks.worker import expert_slices


class Module:
    """As much of torch's as is asked for."""

    def __init__(self, parameters=(), buffers=(), **modules):
        self._parameters, self._modules, self._buffers = dict(parameters), modules, list(buffers)

    def children(self):
        return iter(self._modules.values())

    def modules(self):
        yield self
        for one in self.children():
            yield from one.modules()

    def parameters(self):
        return iter([value for one in self.modules() for value in one._parameters.values()])

    def buffers(self):
        return iter([value for one in self.modules() for value in one._buffers])


class Experts(Module):
    def __init__(self, *shapes, count=4, train=False, **more):
        shapes = shapes or ((4, 6, 8), (4, 8, 3))
        super().__init__({f"w{n}": weight(shape, train) for n, shape in enumerate(shapes)}, **more)
        self.num_experts = count

    def forward(self, hidden_states, top_k_index, top_k_weights):
        raise NotImplementedError


class Dense(Experts):
    """gpt-oss in transformers 4: `routing_weights` holds a weight for every expert, chosen or not."""

    def forward(self, hidden_states, router_indices=None, routing_weights=None):
        raise NotImplementedError


class Transposed(Dense):
    """As transformers 5 marks its own: `use_experts_implementation` wraps the forward."""

    @functools.wraps(Dense.forward)
    def forward(self, *given, **named):
        raise NotImplementedError


class Scored(Experts):
    def forward(self, hidden_states, scores):
        raise NotImplementedError


def weight(shape, train=False):
    return SimpleNamespace(shape=(0,), ds_shape=shape, requires_grad=train)


@pytest.mark.parametrize(
    ("module", "known"),
    [
        (Experts(), True),
        (Transposed((4, 6, 8), (4, 6), (4, 8, 3), (4, 8)), True),  # with a bias of each expert
        (Dense((4, 6, 8), (4, 6), (4, 8, 3), (4, 8)), False),
        (Scored(), False),
        (Experts((4, 6, 8), (6, 8)), False),
        (Experts((4, 6), (4, 8)), False),
        (Experts((1, 6, 8), count=1), False),
        (Module(), False),
    ],
)
def test_they_are_known_by_their_form(module, known):
    assert expert_slices.modules_of(Module(mlp=module)) == ([module] if known else [])


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Module(experts=Experts(act=Module())), None),
        (Module(experts=Experts(train=True)), "the experts of Experts train"),
        (Module(experts=Experts(norm=Module({"w": weight((8,))}))), "not of one expert each"),
        (Module(experts=Experts(buffers=["scale"])), "has buffers"),
        (Module(experts=Module({"lora_A": weight((2, 8), True)}, base_layer=Experts())), "are adapted"),
    ],
)
def test_why_they_stay_whole(model, why):
    said = expert_slices.unfit(model, expert_slices.modules_of(model))
    assert said is None if why is None else why in said


def test_a_forward_that_something_replaced_is_left_alone():
    experts = Experts()
    experts.forward = lambda *given: None
    assert "replaced" in expert_slices.unfit(Module(mlp=experts), [experts])
