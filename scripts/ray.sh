#!/usr/bin/env bash
# Makes .venvs/ray: Ray as a site may have it on its nodes, for the tests and figures of `launch: {with: ray}`.
# Apart from setup.sh, whose digest decides whether the large environment is made anew. Quick when nothing changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly VENV=.venvs/ray
readonly STAMP=$VENV/allranks-setup.sha256

wanted=$(cat requirements/locked/ray.txt scripts/ray.sh scripts/locked.sh | sha256sum | cut -d ' ' -f 1)
if [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$wanted" ]; then exit 0; fi
if [ ! -x $VENV/bin/python ]; then "$(scripts/setup.sh --python)" -m venv $VENV; fi
echo "ray: $VENV" >&2
scripts/locked.sh $VENV ray
echo "$wanted" > "$STAMP"
