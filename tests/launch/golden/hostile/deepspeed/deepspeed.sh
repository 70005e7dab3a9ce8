#!/usr/bin/env bash
# DeepSpeed's launcher.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# On Ctrl-C it ends processes on the nodes with `pkill -f`: by their command line, not by what they are.
case $here in *[!A-Za-z0-9_./@+,=-]*)
  echo "$here: deepspeed hands this path to a shell on every node; move the folder to a path of letters, digits and _./@+,=- alone." >&2
  exit 2 ;;
esac
: "${HF_TOKEN:?export HF_TOKEN where this is started: its value stands in no file}"
export PDSH_SSH_ARGS_APPEND='-o SendEnv=HF_TOKEN'
cd -- "$here"
exec '/shared/my env/bin/deepspeed' --hostfile hostfile \
  --launcher pdsh \
  --master_addr 10.0.0.1 \
  --master_port 39500 \
  --no_python --no_local_rank ./rank.sh
