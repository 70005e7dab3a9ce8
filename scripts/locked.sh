#!/usr/bin/env bash
# Installs one list of requirements/locked: each file must have one of the SHA-256 that PyPI has for it.
#
#   scripts/locked.sh VENV NAME [option of pip ...]
#
# What a source builds with (setuptools) is fetched by pip into a place of its own and is not among the hashes.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$1 list=${ALLRANKS_LOCKED:-$top/requirements/locked}/$2.txt
shift 2
pip=("$venv/bin/python" -m pip --disable-pip-version-check install --quiet --no-deps "$@")
if [ -n "${ALLRANKS_UNLOCKED:-}" ]; then
    echo "locked: $list by versions alone (ALLRANKS_UNLOCKED)" >&2
    "${pip[@]}" -r <(sed -e 's/ *\\$//' -e '/^ *--hash=/d' "$list")
elif ! "${pip[@]}" --require-hashes -r "$list"; then
    echo "locked: nothing of $list was installed. If pip says that hashes do not match, this machine's index serves" \
        "other files than PyPI: ask who runs it why. ALLRANKS_UNLOCKED=1 installs by versions alone." >&2
    exit 1
fi
