"""Stands in for torchaudio where it has no build. It can load no sound and says so.

LLaMA-Factory imports torchaudio when it starts, also for text. `scripts/setup.sh` installs this only
beside a CPU build of torch.
"""

__version__ = "2.13.0+allranks.standin"


def __getattr__(name):
    if name.startswith("__"):  # what Python and import tools ask every module for
        raise AttributeError(name)
    raise AttributeError(
        f"torchaudio.{name}: this is allranks' empty stand-in (no CPU build of torchaudio exists here). "
        "To train on sound, install torchaudio itself beside a CUDA build of torch."
    )
