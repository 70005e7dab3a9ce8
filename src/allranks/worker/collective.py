"""Data that all ranks must have alike before they continue: rank 0's word, or each rank's number. No pickle
travels."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from allranks.worker import optimizer_state

ANSWER_BYTES = 512
"""Sent at first, with the length of all before it: nearly every answer fits, and one collective is saved."""


class CannotResume(RuntimeError):
    """Raised on every rank, before anything was changed: the run must not resume from another place."""


def agree(act: Any) -> Any:
    """Rank 0 acts; what it got, or CannotResume with its reason, on every rank. As JSON: nothing is unpickled."""
    text = b""
    if optimizer_state.rank() == 0:
        try:
            text = json.dumps({"got": act()}).encode("utf-8")
        except CannotResume as error:
            text = json.dumps({"error": str(error)}).encode("utf-8")
        except Exception as error:  # whatever it is: the other ranks wait in the broadcast below
            text = json.dumps({"error": "%s: %s" % (type(error).__name__, error)}).encode("utf-8")
    head = len(text).to_bytes(8, "little") + text
    told = from_rank_0(head[:ANSWER_BYTES].ljust(ANSWER_BYTES))
    length = int.from_bytes(told[:8], "little")
    told = told[8 : 8 + length]
    if length > len(told):
        told += from_rank_0(text[len(told) :].ljust(length - len(told)))
    answer = json.loads(told.decode("utf-8"))
    if "error" in answer:
        raise CannotResume(answer["error"])
    return answer["got"]


def from_rank_0(data: bytes) -> bytes:
    """Rank 0's bytes on every rank; `data` has the same length on all."""
    import torch

    if not data:
        return b""
    buffer = torch.frombuffer(bytearray(data), dtype=torch.uint8).to(optimizer_state.device())
    torch.distributed.broadcast(buffer, src=0)
    return bytes(buffer.cpu().tolist())


def of_all(mine: int) -> List[int]:
    """Each rank's number (0 to 255), in their order."""
    import torch

    one = torch.tensor([mine], dtype=torch.uint8, device=optimizer_state.device())
    return [int(answer.item()) for answer in optimizer_state.all_gathered(one)]


def texts_of_all(mine: Dict[str, str], room: int) -> List[Dict[str, str]]:
    """Each rank's answers, in their order; as JSON of at most `room` bytes, else the longest texts are cut."""
    import torch

    while len(text := json.dumps(mine).encode("utf-8")) > room:
        longest = max(mine, key=lambda name: len(mine[name]))
        mine = {**mine, longest: mine[longest][: len(mine[longest]) // 2]}
    one = torch.frombuffer(bytearray(text.ljust(room)), dtype=torch.uint8).to(optimizer_state.device())
    answers = optimizer_state.all_gathered(one)
    return [json.loads(bytes(answer.cpu().tolist()).decode("utf-8")) for answer in answers]
