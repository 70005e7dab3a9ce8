#!/usr/bin/env bash
# pdsh: the script of each node, on all nodes at once.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
case $here in *[!A-Za-z0-9_./@+,=-]*)
  echo "$here: pdsh hands this path to a shell on every node; move the folder to a path of letters, digits and _./@+,=- alone." >&2
  exit 2 ;;
esac
exec env 'PDSH_SSH_ARGS_APPEND=-o BatchMode=yes -o ConnectTimeout=10' pdsh \
  -R ssh -S -f 3 -w ubuntu@10.18.122.130,ubuntu@10.18.122.131,ubuntu@10.18.122.132 'exec bash '"$here"/node-%n.sh
