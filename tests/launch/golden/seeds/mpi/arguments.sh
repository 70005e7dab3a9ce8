# shellcheck shell=bash disable=SC1003,SC2016,SC2034,SC2054,SC2088,SC2154
# What torchrun starts, one word a line.
arguments=(
  -m
  llamafactory.launcher
  "$here"/arguments.yaml
  deepspeed="$here"/deepspeed.json
)
