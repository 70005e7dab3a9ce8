#!/usr/bin/env bash
set -e
cp -r $TINY base
export FORCE_TORCHRUN=1 NPROC_PER_NODE=2 MASTER_PORT=41714
llamafactory-cli train sft_lora.yaml
