"""Experts in lockstep: under ZeRO-3 every rank runs every expert of a layer, in one order, a few gathered at a time.

A leaf module (`moe.py`) gathers all experts of a layer at once. Here the block's own code stays as it is. If it skips
an expert because no token of this rank goes there, the expert runs with no tokens. So all ranks run all experts in
ascending order, and gather them in groups: forward in this order, backward in the reverse.

Backward has the same order on all ranks for this reason: among the operations that are ready, autograd runs the one
that was made last. The output of an expert without tokens is tied to the input of the next call (`tie`). Its
operations were therefore made after those before it, and are ready before them. A group is let go on the way into its
first expert, and gathered on the way back from its last.

DeepSpeed's coordinator does the gathering, so its trace, prefetching and counts include the groups; at the end of the
first steps it compares the order among ranks itself. A group is a module of its own that is not in the model: no
parameter's name changes. If no expert trains, DeepSpeed puts no hooks into the experts: the list of them is a
leaf that is never called. If some do (LoRA on experts), it does, and reduces their gradients as always.

Under non-reentrant gradient checkpointing a layer is computed again when its first saved tensor is asked for. The way
back asks for one before it gathers (`Back`): by then, the parameters of the second forward pass are released.
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any, Callable, List, Optional, Tuple

from allranks.worker import guard

VARIABLE = "ALLRANKS_EXPERTS"
"""`lockstep:N` gathers N experts at a time (`train.experts`); anything else leaves the leaf."""

FIRST_ID = 10**9
"""Of the groups, among the `ds_id` that DeepSpeed counts from 0."""

CALLS = ("trace_prologue", "is_record_trace", "record_module", "fetch_sub_module", "release_sub_module")


def asked(value: Optional[str]) -> int:
    """How many experts are gathered at a time; 0 if the run does not ask for it."""
    kind, _, count = (value or "").partition(":")
    return int(count) if kind == "lockstep" and count.isdigit() else 0


def unfit() -> Optional[str]:
    """Why it cannot be done with the loaded libraries, or None."""
    torch, name = guard.loaded("torch"), "deepspeed.runtime.zero.partitioned_param_coordinator"
    coordinator = getattr(guard.loaded(name), "PartitionedParameterCoordinator", None)
    if coordinator is None or not all(hasattr(coordinator, call) for call in CALLS):
        return "this DeepSpeed's parameter coordinator is not known"
    if "with_kwargs" not in inspect.signature(torch.nn.Module.register_forward_pre_hook).parameters:
        return "torch is older than 2.0"
    return None


def after_leaf_lists(arranged: Any) -> None:
    """DeepSpeed 0.18 and later mark the leaves of their own list inside `initialize`, and so once more."""
    engine = guard.loaded("deepspeed.runtime.engine")
    original = getattr(engine, "apply_zero_leaf_module_config", None)
    if original is not None:
        engine.apply_zero_leaf_module_config = guard.around(original, after=lambda kept: arranged.mark())


class Lockstep:
    """All blocks of one model. Made before `deepspeed.initialize`; `begin` comes after it."""

    def __init__(self, blocks: List[Any], at_once: int):
        self.coordinator: Any = None
        self.takes_direction = True
        self.autograd = _functions()
        self.blocks = [Block(self, block, at_once) for block in blocks]
        for number, group in enumerate(group for block in self.blocks for group in block.groups):
            group.module.ds_id = FIRST_ID + number

    def mark(self) -> None:
        """Takes the blocks back if LLaMA-Factory, DeepSpeed's own list or a script has made leaves of them."""
        for block in self.blocks:
            block.module._z3_leaf = False
            block.experts._z3_leaf = not block.trains

    def begin(self, engine: Any) -> None:
        """The engine is there: from now on the groups are gathered."""
        optimizer = engine.optimizer
        offload = getattr(optimizer, "parameter_offload", optimizer)
        if not hasattr(offload, "get_param_coordinator"):
            raise RuntimeError(
                "allranks: this DeepSpeed engine has no parameter coordinator, which train.experts: lockstep needs; "
                "train.experts: leaf does not."
            )
        self.coordinator = offload.get_param_coordinator()

    def gather(self, module: Any, forward: bool) -> None:
        coordinator = self.coordinator
        coordinator.trace_prologue(module)
        if coordinator.is_record_trace():
            coordinator.record_module(module)
        coordinator.fetch_sub_module(module, forward=forward)

    def let_go(self, module: Any, forward: bool) -> None:
        if self.takes_direction:
            try:
                self.coordinator.release_sub_module(module, forward=forward)
                return
            except (
                TypeError
            ) as error:  # before 0.17 or so; DeepSpeed wraps the method and hides its signature
                if "'forward'" not in str(error):
                    raise
                self.takes_direction = False
        self.coordinator.release_sub_module(module)


class Group:
    """Experts that are gathered together."""

    def __init__(self, all_blocks: Lockstep, experts: List[Any]):
        torch = guard.loaded("torch")
        self.all = all_blocks
        self.module = torch.nn.Module()
        for number, expert in enumerate(experts):
            self.module.add_module(str(number), expert)
        self.module._z3_leaf = True
        self.module._external_params = {}
        self.module.ds_external_parameters = dict().items
        self.module.ds_recompute_parameters = set()
        self.trains = any(parameter.requires_grad for parameter in self.module.parameters())

    def into(self, args: Any, kwargs: Any) -> Tuple[Any, Any]:
        """Its first expert begins."""
        torch = guard.loaded("torch")
        if self.all.coordinator is None:
            return args, kwargs
        self.all.gather(self.module, forward=not _is_computed_again())
        if not torch.is_grad_enabled():
            return args, kwargs

        def on_the_way_back(value: Any) -> Any:
            if self.trains and not value.requires_grad:
                value = value.detach().requires_grad_()
            return self.all.autograd.Into.apply(value, self._done) if value.requires_grad else value

        return _with_first(args, kwargs, on_the_way_back)

    def out_of(self, output: Any) -> Any:
        """Its last expert has run."""
        if self.all.coordinator is None:
            return output
        self.all.let_go(self.module, forward=not _is_computed_again())

        def back(value: Any) -> Any:
            return self.all.autograd.Back.apply(value, self._needed) if value.requires_grad else value

        return _with_first((output,), {}, back)[0][0]

    def saving(self) -> Any:
        """A context in which the weights that autograd saves are noted by name, or None if nothing asks for it.

        Non-reentrant checkpointing keeps what a recomputation saves, and compares all of it once the layer is done:
        weights that were let go would be found empty. They are whole again when backward comes to the group."""
        torch = guard.loaded("torch")
        top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
        outer = top(True) if top is not None and torch.is_grad_enabled() else None
        if outer is None:
            return None
        pack_outside, unpack_outside = outer
        whole = [(p, p.data_ptr(), p.numel() * p.element_size()) for p in self.module.parameters()]

        def pack(value: Any) -> Any:
            at = value.data_ptr()
            for parameter, start, size in whole:
                if start <= at < start + size and value.dtype == parameter.dtype:
                    offset = (at - start) // value.element_size()
                    return True, (parameter, value.shape, value.stride(), offset)
            return False, pack_outside(value)

        def unpack(packed: Any) -> Any:
            is_weight, kept = packed
            if not is_weight:
                return unpack_outside(kept)
            parameter, shape, stride, offset = kept
            data = parameter.data
            return data.as_strided(shape, stride, data.storage_offset() + offset)

        return torch.autograd.graph.saved_tensors_hooks(pack, unpack)

    def _needed(self) -> None:
        self.all.gather(self.module, forward=False)

    def _done(self) -> None:
        self.all.let_go(self.module, forward=False)


class Block:
    """One block of routed experts: its hooks, which come before DeepSpeed's."""

    def __init__(self, all_blocks: Lockstep, module: Any, at_once: int):
        self.module, self.experts = module, module.experts
        experts = list(module.experts)
        self.all = all_blocks
        self.trains = any(parameter.requires_grad for parameter in module.experts.parameters())
        self.groups = [
            Group(all_blocks, experts[start : start + at_once]) for start in range(0, len(experts), at_once)
        ]
        self.first = {number * at_once: group for number, group in enumerate(self.groups)}
        self.last = {
            min((number + 1) * at_once, len(experts)) - 1: group for number, group in enumerate(self.groups)
        }
        self.count = len(experts)
        self.at_once = at_once
        self.next = 0
        self.idles = False
        self.seen: Any = None
        self.saving: Any = None
        self._hook(experts)

    def _hook(self, experts: List[Any]) -> None:
        self.module.register_forward_pre_hook(self._begin, with_kwargs=True)
        for number, expert in enumerate(experts):
            expert.register_forward_pre_hook(self._before(number), with_kwargs=True)
            expert.register_forward_hook(self._after(number), with_kwargs=True)
        for name, other in self.module.named_children():
            if other is not self.experts and name not in ("gate", "router"):
                other.register_forward_pre_hook(self._beside, with_kwargs=True)
        self.module.register_forward_hook(self._end, with_kwargs=True)

    def _begin(self, module: Any, args: Any, kwargs: Any) -> None:
        self.next, self.idles, self.seen = 0, False, None
        _with_first(args, kwargs, self._see_block)

    def _see_block(self, value: Any) -> Any:
        """Remembers the input that an expert would get, in case this rank calls none at all."""
        self.seen = [(value.new_empty((0, value.shape[-1])), value.requires_grad)], {}
        return value

    def _before(self, number: int) -> Callable[..., Any]:
        def before(module: Any, args: Any, kwargs: Any) -> Any:
            if not self.idles:
                if number < self.next:
                    raise RuntimeError(self._disorder(number))
                self.seen = _seen(args, kwargs)
                args, kwargs = self._tied(self._idle_until(number), args, kwargs)
                self.next = number + 1
            if number in self.first:
                args, kwargs = self.first[number].into(args, kwargs)
            self.saving = self.groups[number // self.at_once].saving()
            if self.saving is not None:
                self.saving.__enter__()
            return args, kwargs

        return before

    def _after(self, number: int) -> Callable[..., Any]:
        def after(module: Any, args: Any, kwargs: Any, output: Any) -> Any:
            if self.saving is not None:
                self.saving.__exit__(None, None, None)
                self.saving = None
            return self.last[number].out_of(output) if number in self.last else output

        return after

    def _beside(self, module: Any, args: Any, kwargs: Any) -> Any:
        """Another part of the block runs: with no expert called yet it is before them, else behind them all."""
        if self.idles or not 0 < self.next < self.count:
            return None
        return self._tied(self._idle_until(self.count), args, kwargs)

    def _end(self, module: Any, args: Any, kwargs: Any, output: Any) -> Any:
        if self.next >= self.count:
            return output
        return self._tied(self._idle_until(self.count), (output,), {})[0][0]

    def _idle_until(self, number: int) -> List[Any]:
        """Runs the experts from the next one up to `number` with no tokens; what they returned."""
        found: List[Any] = []
        self.idles = True
        try:
            while self.next < number:
                args, kwargs = _empty(self.seen)
                _with_first((self.experts[self.next](*args, **kwargs),), {}, found.append)
                self.next += 1
        finally:
            self.idles = False
        return found

    def _tied(self, idle: List[Any], args: Any, kwargs: Any) -> Tuple[Any, Any]:
        """`args` with what experts without tokens returned in their history, so that backward comes to them."""
        torch = guard.loaded("torch")
        idle = [value for value in idle if value.requires_grad]
        if not idle or not torch.is_grad_enabled():
            return args, kwargs
        return _with_first(args, kwargs, lambda value: self.all.autograd.Tie.apply(value, *idle))

    def _disorder(self, number: int) -> str:
        return (
            f"allranks: {type(self.module).__name__} called expert {number} after expert {self.next - 1}. "
            "train.experts: lockstep needs a block that calls each expert at most once, in ascending order; "
            "train.experts: leaf needs no order."
        )


def _functions() -> Any:
    """What autograd meets on its way back. Made here: torch is imported by the script."""
    torch = guard.loaded("torch")

    class Into(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any, done: Callable[[], None]) -> Any:
            ctx.done = done
            return value.detach()

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            ctx.done()
            return gradients[0], None

    class Back(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any, needed: Callable[[], None]) -> Any:
            ctx.needed = needed
            # The last tensor that the block saves on any rank: a recomputation does not end before it, and never
            # within a group.
            ctx.save_for_backward(value.new_empty(0))
            return value.detach()

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            ctx.saved_tensors  # noqa: B018  (asking computes the layer again, before anything is gathered for it)
            ctx.needed()
            return gradients[0], None

    class Tie(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any, *idle: Any) -> Any:
            ctx.shapes = [one.shape for one in idle]
            ctx.dtypes = [one.dtype for one in idle]
            return value.detach()

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            gradient = gradients[0]
            empty = [gradient.new_empty(s, dtype=d) for s, d in zip(ctx.shapes, ctx.dtypes)]
            return (gradient, *empty)

    return SimpleNamespace(Into=Into, Back=Back, Tie=Tie)


def _is_computed_again() -> bool:
    """Whether this forward pass is a recomputation within backward. DeepSpeed 0.19.3 and later would keep what such a
    pass gathers; told that it belongs to backward, they let the groups go."""
    native = guard.loaded("torch")._C
    task = getattr(native, "_current_graph_task_id", None)
    return task is not None and task() != -1


def _is_floating(value: Any) -> bool:
    torch = guard.loaded("torch")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _with_first(args: Any, kwargs: Any, change: Callable[[Any], Any]) -> Tuple[Any, Any]:
    """`args` and `kwargs` with `change` applied to their first floating tensor, also inside a tuple."""
    for place, value in enumerate(args):
        if isinstance(value, tuple) and any(_is_floating(one) for one in value):
            inner, _ = _with_first(value, {}, change)
            return (*args[:place], inner, *args[place + 1 :]), kwargs
        if _is_floating(value):
            return (*args[:place], change(value), *args[place + 1 :]), kwargs
    for name, value in kwargs.items():
        if _is_floating(value):
            return args, {**kwargs, name: change(value)}
    return args, kwargs


def _seen(args: Any, kwargs: Any) -> Any:
    """The form of what a call was given: for each tensor one with no rows, and whether it has gradients."""
    torch = guard.loaded("torch")

    def of(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.dim():
            return value, None
        return value.new_empty((0, *value.shape[1:])), value.requires_grad

    return [of(value) for value in args], {name: of(value) for name, value in kwargs.items()}


def _empty(seen: Any) -> Tuple[Any, Any]:
    """A call of the same form with no tokens."""

    def of(pair: Any) -> Any:
        value, has_gradient = pair
        return value if has_gradient is None else value.new_empty(value.shape).requires_grad_(has_gradient)

    args, kwargs = seen
    return tuple(of(pair) for pair in args), {name: of(pair) for name, pair in kwargs.items()}
