#!/bin/bash
set -e
export HF_HUB_OFFLINE=1 HF_HOME=$PWD/.hf
python prep.py
python clf.py
python predict.py out/final "the lamp arrived broken and cold" "bright warm lovely lamp"
