"""Which of a model's parameters and buffers a save of its adapter needs: PEFT is asked."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from allranks.worker import guard


class NotRead(RuntimeError):
    """PEFT cannot read the adapter's state from the gathered values: nothing was written. Raised on a rank that
    writes, after the last collective."""


def chosen(model: Any, names: List[str]) -> Tuple[List[bool], str]:
    """For each name whether it is gathered; why PEFT could not say, or nothing.

    PEFT itself is asked, with a stand-in for every tensor. Some kinds of adapter compute what they save from the
    values, which a stand-in does not have, and PEFT may fail for reasons of its own. Then all that may belong to the
    adapter is gathered, trained or frozen, and PEFT picks from the values (`check_readable`).
    """
    try:
        from peft import get_peft_model_state_dict

        stand_ins: Dict[str, Any] = {name: _StandIn() for name in names}
        picked = set()
        for adapter in model.peft_config:
            state = get_peft_model_state_dict(model, state_dict=dict(stand_ins), adapter_name=adapter)
            picked.update(map(id, state.values()))
        return [id(stand_ins[name]) in picked for name in names], ""
    except Exception as error:
        guard.note("asks PEFT what an adapter's save holds; all of the adapter is gathered", error)
        may = _may_belong(model)
        return [may(name) for name in names], "%s: %s" % (type(error).__name__, str(error)[:300])


class _StandIn:
    """Stands for a tensor while PEFT picks names: whoever computes with it fails at once."""


def _may_belong(model: Any) -> Any:
    """Returns a function that tells whether PEFT may save a name. It may save parameters that train, names with the
    adapter's prefix, modules that PEFT wraps whole, and the embeddings, which it saves if they were resized."""
    marks = (str(getattr(model.base_model, "prefix", None) or "lora_"), ".modules_to_save.")
    trained = {
        name for name, parameter in model.named_parameters(remove_duplicate=False) if parameter.requires_grad
    }
    embeddings = [getattr(model, name, None) for name in ("get_input_embeddings", "get_output_embeddings")]
    layers = [layer for layer in map(_called, embeddings) if layer is not None]
    roots = tuple(
        name + "."
        for name, module in model.named_modules(remove_duplicate=False)
        if any(module is layer for layer in layers) or "token_adapter" in name.rpartition(".")[2]
    )
    return lambda name: name in trained or any(mark in name for mark in marks) or name.startswith(roots)


def _called(get: Any) -> Any:
    try:
        return None if get is None else get()
    except Exception:
        return None  # a model without such a layer says so by an exception


def check_readable(model: Any, state: Dict[str, Any]) -> None:
    """Raises NotRead if PEFT cannot read each adapter of the model from these values."""
    from peft import get_peft_model_state_dict

    for adapter in model.peft_config:
        try:
            get_peft_model_state_dict(model, state_dict=state, adapter_name=adapter)
        except Exception as error:
            raise NotRead(
                "PEFT could not read the state of the adapter %s: %s: %s. Nothing was saved."
                % (adapter, type(error).__name__, str(error)[:300])
            ) from error
