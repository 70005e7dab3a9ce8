# shellcheck shell=bash disable=SC1003,SC2016,SC2034,SC2054,SC2088,SC2154
# The arguments of each index of the array.
case $task in
  0) arguments+=(--lr=1e-05 '--note=it'"'"'s') ;;
  1) arguments+=(--lr=1e-05 '--note=a
b') ;;
  2) arguments+=(--lr=5e-05 '--note=it'"'"'s') ;;
  3) arguments+=(--lr=5e-05 '--note=a
b') ;;
  *) echo "index $task is none of the sweep" >&2; exit 2 ;;
esac
