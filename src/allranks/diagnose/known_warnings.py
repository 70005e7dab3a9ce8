"""Lines that healthy runs print too, although they have words of a failure: warnings about options that are not used
and hardware that is not there. No digit's value matters in them."""

from __future__ import annotations

import re

_KNOWN = re.compile(
    # transformers, tokenizers, peft
    r"attention mask and the pad token id were not set|Setting `pad_token_id` to `eos_token_id`"
    r"|(?:Using|Setting) (?:pad|eos|bos|unk|mask)_token\b.{0,10}(?:but )?it is not set yet"
    r"|Special tokens have been added in the vocabulary|You should probably TRAIN this model"
    r"|Some weights of .{1,400} were not (?:initiali[sz]ed|used)|longer than the specified maximum sequence length"
    r"|The current process just got forked|`use_cache=True` is incompatible with gradient checkpointing"
    r"|The tokenizer has new (?:PAD/BOS/EOS|special) tokens|Merge weights into the base model before"
    # DeepSpeed's report of operators that were not built
    r"|specify the CUTLASS repo directory"
    # Open MPI, libibverbs, UCX
    r"|No preset parameters were found for the device|No OpenFabrics connection schemes reported"
    r"|an error initializing an OpenFabrics device|infiniband ports on a device$"
    r"|executed an operation involving a call to the|couldn't load driver '[\w./-]{1,80}-rdmav"
    r"|Set MCA parameter .{0,10}orte_base_help_aggregate|more process(?:es)? ha(?:s|ve) sent help message"
    r"|unused environment variables?: UCX_"
    # TensorFlow, Keras, JAX
    r"|missing from loss dictionary|This TensorFlow binary is optimi[sz]ed|read from SysFS had negative value"
    r"|Unable to register cu\w{2,8} factory"
    r"|the layer has never been called|An NVIDIA GPU may be present on this machine"
    # NCCL, torch
    r"|NET/Plugin\b.{0,60}No plugin found|Could not open any of the plugins"
    r"|Detected kernel version .{1,40} below the recommended"
    r"|^(?:"
    r"df: \S{1,200}: No such file"  # Triton asks for its cache's disk before the folder exists
    r"|deadlocks and crashes\.$"
    r"|\[?I\d{0,40} [^\]]{0,80}\.(?:cpp|cc|cu|h|hpp):\d"  # glog's mark of what is only told
    r")|\b(?:"
    # DeepSpeed's report of operators that were not built
    r"async_io\b.{0,40}(?:requires the dev|the libaio-dev)|If libaio is already installed"
    r"|sparse_attn requires\b|using untested triton version"
    r"|(?:evoformer_attn|gds|fp_quantizer|inference_core_ops|spatial_inference)\b.{0,20}\brequires"
    r"|can cause (?:\w{1,20} to )?deadlocks?\b"  # Polars, Python and JAX of fork()
    r"|(?:terminated|exited|ended|closed|stopped) normally"
    r"|is over 95% full, available space: \d"  # Ray's monitor of its disk, while all is well
    r")"
)
"""One `^` and one `\\b` for most: each other one is tried at every character."""


def is_known_warning(text: str) -> bool:
    """Whether healthy runs print this line."""
    return _KNOWN.search(text, 0, 1000) is not None
