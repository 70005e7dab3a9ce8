"""A checkpoint of Lightning: a file of torch.save that names the version of Lightning that wrote it."""

from __future__ import annotations

from allranks.checkpoints import zip_table
from allranks.checkpoints.kind import Candidate, Kind, Seen
from allranks.checkpoints.kinds import torch_file
from allranks.checkpoints.weights import Damaged

ENDING = ".ckpt"


def holds(place: Candidate) -> bool:
    for name in torch_file.files(place):
        if name.endswith(ENDING):
            try:
                archive = zip_table.read(place.folder, name)
            except (Damaged, OSError):
                continue
            if archive is not None and archive.is_lightning:
                return True
    return False


def judge(place: Candidate) -> Seen:
    return torch_file.judge(place)


KIND = Kind("Lightning checkpoint", 50, holds, judge, holds)
