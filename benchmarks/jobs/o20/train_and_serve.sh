#!/bin/bash
set -e
python train.py
echo "--- starting scoring service for the smoke test"
uvicorn serve:app --host 127.0.0.1 --port ${PORT:-4620}
