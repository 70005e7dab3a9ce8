#!/bin/bash
set -eu
mkdir -p fast bulk
ln -sfn /dev/full fast/model.pt     # fast tier is a fixed-size device
python weather.py
python - <<'P'
import torch
print("check:", {k: tuple(v.shape) for k, v in torch.load("bulk/model.pt").items()})
P
