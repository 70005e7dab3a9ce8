#!/usr/bin/env bash
# Started by DeepSpeed's launcher: one rank.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/rank.sh
# The number of this node, as DeepSpeed's launcher sets it.
node=${CROSS_RANK:?the DeepSpeed launcher starts this}
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" '/shared/my env/bin/python' \
  -u \
  "${arguments[@]}"
