"""The plan as data: the parameters that a run trains, its memory and traffic, and the exact settings of each rank."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from allranks.core import Finding
from allranks.plan.lora import Trained
from allranks.plan.model import Model
from allranks.plan.setting import Setting
from allranks.spec import Run


@dataclass(frozen=True)
class Plan:
    """Numbers are None if the model is not known. The run uses exactly these `ranks`, `environment` and `deepspeed`.

    `trainer` are the training arguments that must differ from the user's, so that the run does what the user meant.
    `deepspeed` is None for `train.command`, and for a path until its content is given.
    """

    run: Run
    setting: Setting
    ranks: tuple[Mapping[str, Any], ...]
    environment: Mapping[str, Mapping[str, Any]]
    deepspeed: Mapping[str, Any] | None
    deepspeed_reasons: Mapping[str, str] = field(default_factory=dict)
    model: Model | None = None
    trainable_parameters: int | None = None
    trained: Trained | None = None
    memory: Mapping[str, Any] | None = None
    traffic: Mapping[str, Any] | None = None
    advice: Mapping[str, Any] = field(default_factory=dict)
    trainer: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def total_parameters(self) -> int | None:
        return self.model.total_parameters if self.model else None

    @property
    def world_size(self) -> int:
        return len(self.ranks)

    @property
    def digest(self) -> str:
        """SHA-256 of what will run and of the numbers, 64 hexadecimal digits; equal plans have equal digests."""
        import hashlib  # its OpenSSL takes 2 ms to load

        text = json.dumps(self._body(), sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def _body(self) -> dict[str, Any]:
        return {
            "name": self.run.name,
            "trainable_parameters": self.trainable_parameters,
            "total_parameters": self.total_parameters,
            "active_parameters": self.model.active_parameters if self.model else None,
            "method": self.setting.method if self.setting.known else None,
            "model": self._model(),
            "memory": self.memory or EMPTY_MEMORY,
            "traffic": self.traffic or {"received_bytes_per_step": None},
            "advice": dict(self.advice),
            "deepspeed": self.deepspeed,
            "deepspeed_reasons": dict(self.deepspeed_reasons),
            "environment": self.environment,
            "ranks": [dict(row) for row in self.ranks],
            "trainer": dict(self.trainer),
        }

    def _model(self) -> dict[str, Any] | None:
        if self.model is None:
            return None
        name, count = self.model.largest_unit
        return {
            "family": self.model.family,
            "layers": self.model.layers,
            "parameters_per_layer": list(self.model.parameters_per_layer),
            "largest_unit": {"name": name, "parameters": count},
        }

    def as_json(self) -> dict[str, Any]:
        body = self._body()
        body["findings"] = [finding.as_json() for finding in self.findings]
        body["digest"] = self.digest
        return body


EMPTY_MEMORY: Mapping[str, Any] = {
    "gpu_bytes": {
        "parameters": None,
        "working_set": None,
        "gradients": None,
        "optimizer": None,
        "activations": None,
        "total": None,
    },
    "host_bytes": None,
    "verdict": None,
}
