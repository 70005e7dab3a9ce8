#!/usr/bin/env bash
# Style, types, the order of the rooms, that what travels to nodes runs on Python 3.8, and what is known against the
# locked packages. That is only said: what the world learns tomorrow must not fail what passed today (`make audit` does).
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
$bin/ruff check src tests benchmarks scripts examples
$bin/ruff format --check src tests benchmarks scripts examples
$bin/lint-imports
$bin/vermin -t=3.8- --no-tips --violations --no-parse-comments \
  src/allranks/{core,node,worker,monitor,diagnose,checkpoints} src/allranks/runs/keeper*.py src/allranks/output/report*.py
$bin/pyright
$bin/python scripts/language.py # docs/contributing/style.md
$bin/python scripts/audit.py
