#!/usr/bin/env bash
# Hands the job to Ray.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
cd -- "$here"
exec ray job submit --working-dir . \
  -- python job.py
