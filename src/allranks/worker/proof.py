"""Loads an adapter onto its base model, on the CPU, and looks whether the answer changes.

    python -m allranks.worker.proof --base DIR --adapter DIR [--json]

Prints one JSON object: `{changed, max_difference, noise, tensors, loaded: {missing, unexpected}}`, or
`{error, type}` without `changed` where it could not be tried. Exit codes: 0 the adapter changes the output,
1 it does not or its tensors do not fit, 3 could not tell. Reads safetensors alone, runs no code from the
folders, fetches nothing.

`max_difference` is the largest absolute difference of the logits of one fixed input of TOKENS tokens.
`noise` is the same difference between two runs of the base model: a difference within it is not a change.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from typing import Any, Dict, List, Optional

TOKENS = 16
LISTED = 20
"""Of missing or unexpected tensors that many are named, and all are counted."""

COULD_NOT_TELL = 3


class CannotTry(Exception):
    """Why the proof could not be made, in words for a person."""


def prove(base: str, adapter: str) -> Dict[str, Any]:
    """The answer for one adapter. Raises CannotTry, and whatever the libraries raise."""
    only_safetensors(base, adapter)
    import torch
    from peft import PeftConfig, PeftModel

    torch.set_grad_enabled(False)
    model = load_base(base)
    inputs = fixed_input(torch, model.config)
    before = logits(model, inputs)
    config = PeftConfig.from_pretrained(adapter)
    config.inference_mode = True
    adapted = PeftModel(model, config)
    result = adapted.load_adapter(
        adapter, "default", is_trainable=False, torch_device="cpu", use_safetensors=True
    )
    adapted.eval()
    after = logits(adapted, inputs)
    with adapted.disable_adapter():
        again = logits(adapted, inputs)
    for name, values in (("base model", before), ("base model with the adapter", after)):
        if not bool(torch.isfinite(values).all()):
            raise CannotTry(f"the {name} gives numbers that are not finite")
    difference, noise = largest(before, after), largest(before, again)
    # A key of the base model is missing from every adapter file; only the adapter's own count.
    missing = [key for key in getattr(result, "missing_keys", ()) if is_of_adapter(key, config)]
    return {
        "changed": difference > noise,
        "max_difference": difference,
        "noise": noise,
        "tensors": len(tensor_names(os.path.join(adapter, "adapter_model.safetensors"))),
        "loaded": {
            "missing": listed(missing),
            "missing_count": len(missing),
            "unexpected": listed(getattr(result, "unexpected_keys", ())),
            "unexpected_count": len(getattr(result, "unexpected_keys", ())),
        },
    }


def only_safetensors(base: str, adapter: str) -> None:
    """Refuses what would be unpickled: a pickle from shared storage can run anything."""
    for folder, needed in ((base, "config.json"), (adapter, "adapter_config.json")):
        if not os.path.isfile(os.path.join(folder, needed)):
            raise CannotTry(f"{folder} has no {needed}")
    if not os.path.isfile(os.path.join(adapter, "adapter_model.safetensors")):
        raise CannotTry(f"{adapter} has no adapter_model.safetensors")
    if not any(name.endswith(".safetensors") for name in os.listdir(base)):
        raise CannotTry(f"{base} has no weights in safetensors; other forms are not opened")


def load_base(base: str) -> Any:
    """The base model in the type it is stored in, nothing fetched, no code of its own run."""
    import transformers

    dtype = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    model = transformers.AutoModelForCausalLM.from_pretrained(
        base,
        use_safetensors=True,
        local_files_only=True,
        trust_remote_code=False,
        low_cpu_mem_usage=True,
        **{dtype: "auto"},
    )
    return model.eval()


def fixed_input(torch: Any, config: Any) -> Any:
    """The same TOKENS token numbers for every proof, spread over the vocabulary."""
    vocabulary = int(getattr(config, "vocab_size", 0) or 0)
    if vocabulary < 2:
        raise CannotTry("the base model's config.json names no vocab_size")
    return torch.tensor([[(number * 7919 + 104729) % vocabulary for number in range(TOKENS)]])


def logits(model: Any, inputs: Any) -> Any:
    return model(input_ids=inputs, use_cache=False).logits.float()


def largest(one: Any, other: Any) -> float:
    return float((one - other).abs().max())


def is_of_adapter(key: str, config: Any) -> bool:
    """Whether a model's key belongs to the adapter: LoRA's own, or a module that is saved whole."""
    saved = getattr(config, "modules_to_save", None) or ()
    return "lora_" in key or any(f".{name}.modules_to_save." in key for name in saved)


def listed(names: Any) -> List[str]:
    return sorted(str(name) for name in names)[:LISTED]


def tensor_names(path: str) -> List[str]:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return list(file.keys())


def answer(base: str, adapter: str) -> Dict[str, Any]:
    """`prove`, with every failure as an answer."""
    try:
        return prove(base, adapter)
    except CannotTry as error:
        return {"error": str(error), "type": "CannotTry"}
    except ImportError as error:
        return {"error": f"this Python lacks what the proof needs: {error}", "type": type(error).__name__}
    except Exception as error:
        return {"error": str(error)[:2000] or type(error).__name__, "type": type(error).__name__}


def code(found: Dict[str, Any]) -> int:
    if "changed" not in found:
        return COULD_NOT_TELL
    loaded = found["loaded"]
    return 0 if found["changed"] and not (loaded["missing_count"] or loaded["unexpected_count"]) else 1


def main(words: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="allranks.worker.proof", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--base", required=True, help="the base model's folder")
    parser.add_argument("--adapter", required=True, help="the adapter's folder")
    parser.add_argument(
        "--json", action="store_true", help="accepted for symmetry: the answer is always JSON"
    )
    options = parser.parse_args(words)
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(os.path.abspath(options.base), os.path.abspath(options.adapter))
    print(json.dumps(found, sort_keys=True))
    return code(found)


if __name__ == "__main__":
    sys.exit(main())
