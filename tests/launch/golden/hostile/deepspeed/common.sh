# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the scripts beside it, which set: here (this folder), self (the script), node (its number).
: "${HF_TOKEN:?export HF_TOKEN where this is started: its value is not in any file}"
set +u
for file in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh; do
  if ! command -v module > /dev/null && [ -r "$file" ]; then . "$file"; fi
done
module load cuda/12.1
activate() { . "$HOME"'/it'"'"'s.sh'; }
activate
set -u
cd -- '/srv/the code' || exit 2
. "$here/environment.sh"
. "$here/arguments.sh"
