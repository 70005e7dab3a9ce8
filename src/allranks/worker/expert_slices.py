"""Fused experts a few at a time: under ZeRO-3 a layer's experts, one tensor with a row for each, gathered in slices.

transformers 5 holds a layer's experts in two tensors, and ZeRO-3 gathers a tensor whole. But each rank's part of a
tensor is one contiguous range, so one or two ranks hold a few experts and send them to all others. The module's
own forward runs on each slice with the tokens that go there; a slice without tokens is gathered and not run. All ranks
gather all slices in ascending order, forward and backward, so none waits for another. The next slice is on its way
while one is in use, so two of them are whole at once.

The parameters stay DeepSpeed's: their names, parts and saves do not change. Only its hooks of this one module are
taken away, since they would gather it whole. Backward gathers the slices again and computes them once more, because
autograd would otherwise keep the weights. So nothing that trains may be inside: experts with a LoRA stay as they were.
"""

from __future__ import annotations

import inspect
from typing import Any, Iterator, List, Optional, Tuple

from allranks.worker import guard

FORMS = (
    ("hidden_states", "top_k_index", "top_k_weights"),
    ("hidden_states", "router_indices", "routing_weights"),
)
"""Arguments of a forward that is known: tokens, and for each token its experts and their weights."""

DENSE = FORMS[1]
"""Before transformers marked such experts (`use_experts_implementation`, which wraps the forward), gpt-oss had these
arguments with a weight for every expert, chosen or not."""

HOOKS = 4
"""DeepSpeed's, for each module: before and after its forward pass, and what wraps its inputs and outputs."""


def modules_of(model: Any) -> List[Any]:
    """All modules of this form, whether they can be gathered in slices or not."""
    return [module for module in model.modules() if _is_fused(module)]


def _is_fused(module: Any) -> bool:
    count = getattr(module, "__dict__", {}).get("num_experts")
    if not isinstance(count, int) or count < 2:
        return False
    own = list(module._parameters.values())
    if not own or any(one is None for one in own):
        return False
    shapes = [tuple(getattr(one, "ds_shape", one.shape)) for one in own]
    if any(len(shape) < 2 or shape[0] != count for shape in shapes) or max(map(len, shapes)) != 3:
        return False
    forward = type(module).forward
    form = tuple(inspect.signature(forward).parameters)[1:]
    return form in FORMS and (form != DENSE or hasattr(forward, "__wrapped__"))


def unfit(model: Any, modules: List[Any]) -> Optional[str]:
    """Why the experts of this model stay whole, or None."""
    for module in modules:
        name = type(module).__name__
        if any(one.requires_grad for one in module.parameters()):
            return f"the experts of {name} train"
        if len(list(module.parameters())) != len(module._parameters):
            return f"{name} has parameters that are not of one expert each"
        if any(True for _ in module.buffers()):
            return f"{name} has buffers"
        if "forward" in module.__dict__:
            return f"something has replaced the forward of {name}"
    inside = {id(module) for module in modules}
    for outer in model.modules():
        if "base_layer" in outer._modules and id(outer._modules["base_layer"]) in inside:
            return f"the experts of {type(outer._modules['base_layer']).__name__} are adapted"
    return None


class Slices:
    """All fused experts of one model. Made before `deepspeed.initialize`; `begin` comes after it."""

    def __init__(self, model: Any, modules: List[Any], at_once: int):
        inside = {id(module) for module in modules}
        self.modules, self.at_once = modules, at_once
        self.outer = [one for one in model.modules() if any(id(inner) in inside for inner in one.modules())]

    def mark(self) -> None:
        """Modules around such experts must not be leaves: DeepSpeed would gather a leaf with all that is inside."""
        for module in self.outer:
            module._z3_leaf = False

    def begin(self, engine: Any) -> str:
        """The engine is there. From now on the slices are gathered, unless DeepSpeed's parts are not of the known form.
        The answer is a note of what was done."""
        offload = getattr(engine.optimizer, "parameter_offload", engine.optimizer)
        handles = [*getattr(offload, "forward_hooks", ()), *getattr(offload, "backward_hooks", ())]
        hooked = _by_module(handles, self.modules)
        for module in self.modules:
            why = _unknown_parts(module)
            if why is None and any(len(hooked.get(id(one), ())) != HOOKS for one in module.modules()):
                why = "this DeepSpeed's hooks are not known"
            if why:
                return f"train.experts: lockstep is left out: {why}."
        function = _function()
        for module in self.modules:
            for one in module.modules():  # the activation function runs once for each slice with tokens, too
                for handle in hooked[id(one)]:
                    handle.remove()
            module.forward = Experts(module, self.at_once, function).forward
        names = ", ".join(sorted({type(module).__name__ for module in self.modules}))
        return (
            f"{names}: fused experts in slices, {min(self.at_once, self.modules[0].num_experts)} at a time."
        )


def _by_module(handles: List[Any], modules: List[Any]) -> Any:
    """The handles of each module's hooks, by the module's id."""
    owners = {
        id(hooks): id(one)
        for module in modules
        for one in module.modules()
        for hooks in (one._forward_pre_hooks, one._forward_hooks)
    }
    found: Any = {}
    for handle in handles:
        owner = owners.get(id(getattr(handle, "hooks_dict_ref", lambda: None)()))
        if owner is not None:
            found.setdefault(owner, []).append(handle)
    return found


def _unknown_parts(module: Any) -> Optional[str]:
    for one in module._parameters.values():
        part = getattr(one, "ds_tensor", None)
        if part is None:
            return "the experts are not split over the ranks"
        copies = ("ds_secondary_tensor", "ds_zero_param_process_group")  # the second is there from the start
        if any(getattr(one, name, None) is not None for name in copies) or hasattr(part, "ds_quant_scale"):
            return "each node keeps a copy, or the parts are quantized"
        if getattr(getattr(part, "final_location", None), "value", None) == "nvme":
            return "the parts are on NVMe"
        if part.numel() * _ranks(one) < one.ds_numel:
            return "the parts are not of the known form"
    return None


def _ranks(parameter: Any) -> int:
    return guard.loaded("torch").distributed.get_world_size(parameter.ds_process_group)


class Experts:
    """One module of fused experts. Its forward is called within the module's hooks, as the module's own was."""

    def __init__(self, module: Any, at_once: int, function: Any):
        self.kind, self.own, self.function = type(module), module.__dict__, function
        self.parameters = dict(module._parameters)
        self.count = module.num_experts
        self.starts = range(0, self.count, at_once)
        self.at_once = at_once

    def forward(self, hidden: Any, index: Any, weights: Any) -> Any:
        return self.function.apply(hidden, weights, index, self)

    def run(self, weights: Any, hidden: Any, index: Any, scale: Any) -> Any:
        """The module's own forward on a slice: a twin without parameters has these tensors in their place."""
        twin = object.__new__(self.kind)
        twin.__dict__.update(self.own)
        twin.__dict__.pop("forward", None)
        count = next(iter(weights.values())).shape[0]
        twin.__dict__.update(weights, _parameters={}, num_experts=count)
        return self.kind.forward(twin, hidden, index, scale)

    def slices(self, index: Any, device: Any) -> Iterator[Tuple[Any, Any, Any]]:
        """For each slice in turn its tensors by name, the places in the flattened `index` that go there, and their
        experts within the slice. The tensors are in a list. The caller takes them out, so that none is kept
        longer than needed."""
        torch = guard.loaded("torch")
        flat = index.reshape(-1)
        order = torch.argsort(flat, stable=True)
        edges = torch.tensor([*self.starts, self.count], dtype=flat.dtype, device=flat.device)
        bounds = torch.searchsorted(flat[order], edges).tolist()
        ahead = [self._gathering(0, device)]
        for number, start in enumerate(self.starts):
            found = [ahead.pop().tensors()]
            if number + 1 < len(self.starts):
                ahead.append(self._gathering(number + 1, device))
            places = order[bounds[number] : bounds[number + 1]]
            yield found, places, flat[places] - start
            found.clear()

    def _gathering(self, number: int, device: Any) -> Gathering:
        first = self.starts[number]
        return Gathering(self.parameters, first, min(first + self.at_once, self.count), self.count, device)


class Gathering:
    """A slice on its way: the ranks that hold it send it to all."""

    def __init__(self, parameters: Any, first: int, last: int, count: int, device: Any):
        self.works: List[Any] = []
        self.found = {name: self._start(one, first, last, count, device) for name, one in parameters.items()}

    def _start(self, parameter: Any, first: int, last: int, count: int, device: Any) -> Any:
        torch = guard.loaded("torch")
        comm = guard.loaded("deepspeed").comm
        group, part = parameter.ds_process_group, parameter.ds_tensor.data
        rank, ranks = comm.get_rank(group=group), comm.get_world_size(group=group)
        each, size = parameter.ds_numel // count, part.numel()
        begin, end = first * each, last * each
        whole = torch.empty(end - begin, dtype=part.dtype, device=device)
        for owner in range(begin // size, (end - 1) // size + 1):
            low, high = max(begin, owner * size), min(end, (owner + 1) * size)
            piece = whole[low - begin : high - begin]
            if owner == rank:
                piece.copy_(part[low - owner * size : high - owner * size])
            if ranks > 1:
                source = torch.distributed.get_global_rank(group, owner) if group is not None else owner
                self.works.append(comm.broadcast(piece, src=source, group=group, async_op=True))
        return whole.view(last - first, *tuple(parameter.ds_shape)[1:])

    def tensors(self) -> Any:
        for work in self.works:
            work.wait()
        return self.found


def _function() -> Any:
    """The pass through all slices as autograd sees it. Made here: torch is imported by the script."""
    torch = guard.loaded("torch")

    class Pass(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, hidden: Any, weights: Any, index: Any, experts: Experts) -> Any:
            ctx.save_for_backward(hidden, weights, index)
            ctx.experts, ctx.casts = experts, _casting(torch, hidden.device.type)
            tokens, scale = hidden.reshape(-1, hidden.shape[-1]), weights.reshape(-1, 1)
            total = torch.zeros(tokens.shape, dtype=torch.float32, device=hidden.device)
            for found, places, number in experts.slices(index, hidden.device):
                if len(places):
                    rows = torch.div(places, index.shape[-1], rounding_mode="floor")
                    result = experts.run(found.pop(), tokens[rows], number[:, None], scale[places])
                    total.index_add_(0, rows, result.float())
            return total.to(hidden.dtype).view(hidden.shape)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            hidden, weights, index = ctx.saved_tensors
            experts, (gradient,) = ctx.experts, gradients
            tokens, scale = hidden.reshape(-1, hidden.shape[-1]), weights.reshape(-1, 1)
            gradient = gradient.reshape(tokens.shape)
            of_tokens = torch.zeros(tokens.shape, dtype=torch.float32, device=hidden.device)
            of_scale = torch.zeros_like(scale)
            for found, places, number in experts.slices(index, hidden.device):
                if not len(places):
                    continue
                rows = torch.div(places, index.shape[-1], rounding_mode="floor")
                inputs = [
                    tokens[rows].detach().requires_grad_(),
                    scale[places].detach().requires_grad_(),
                ]
                with torch.enable_grad(), torch.autocast(**ctx.casts):
                    result = experts.run(found.pop(), inputs[0], number[:, None], inputs[1])
                one, other = torch.autograd.grad(result, inputs, gradient[rows].to(result.dtype))
                del result, inputs
                of_tokens.index_add_(0, rows, one.float())
                of_scale[places] = other
            return of_tokens.to(hidden.dtype).view(hidden.shape), of_scale.view(weights.shape), None, None

    return Pass


def _casting(torch: Any, device: str) -> Any:
    """The autocast of the forward pass, for the computation that backward repeats."""
    return {
        "device_type": device,
        "enabled": torch.is_autocast_enabled(device),
        "dtype": torch.get_autocast_dtype(device),
        "cache_enabled": torch.is_autocast_cache_enabled(),
    }
