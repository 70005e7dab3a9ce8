# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the scripts beside it, which set: here (this folder), self (the script), node (its number).
if [ -z "${ALLRANKS_IN_CONTAINER:-}" ]; then
  case $here in *:*|*,*) echo "$here: a mounted folder must hold no colon and no comma." >&2; exit 2 ;; esac
container=(
  docker
  run
  --rm
  --init
  --network=host
  --gpus=all
  --ulimit=memlock=-1
  --ulimit=stack=67108864
  --shm-size=17179869184
  --env=ALLRANKS_IN_CONTAINER=1
  --volume=/nfs:/nfs:ro
  --volume=/home/ubuntu/LLaMA-Factory:/app
  --volume=/home/ubuntu:/host_home
  --volume="$here":"$here"
)
  # InfiniBand, where the node has it: NCCL opens its devices there.
  if [ -e /dev/infiniband ]; then container+=(--device=/dev/infiniband); fi
  exec "${container[@]}" hiyouga/llamafactory:latest bash "$self" "$@"
fi
python3 -m pip install --quiet -- 'tensorboard<3' transformers==4.52.4 deepspeed==0.18.9
. "$here/environment.sh"
. "$here/arguments.sh"
