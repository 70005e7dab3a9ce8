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
: "${HF_TOKEN:?export HF_TOKEN where this is started: its value is not in any file}"
cd /
exec env 'PDSH_SSH_ARGS_APPEND=-o BatchMode=yes -o ConnectTimeout=10 -o SendEnv=HF_TOKEN' '/shared/my env/bin/python' \
  -m deepspeed.launcher.runner --hostfile "$here"/hostfile --launcher pdsh \
  --no_ssh_check --num_nodes 2 --num_gpus 1 --force_multi --master_addr 10.0.0.1 \
  --master_port 39500 --no_python --no_local_rank env -u CUDA_VISIBLE_DEVICES \
  -u ROCR_VISIBLE_DEVICES -u HIP_VISIBLE_DEVICES bash "$here"/node-%n.sh
