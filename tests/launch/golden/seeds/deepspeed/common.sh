# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the scripts beside it, which set: here (this folder), self (the script), node (its number).
. "$here/environment.sh"
. "$here/arguments.sh"
