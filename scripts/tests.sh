#!/usr/bin/env bash
# Runs tiers of tests, one after another, and says which tests took longest: scripts/tests.sh fast slow
# tests/tiers.py says what is in which tier. build/tests/ keeps each tier's durations (JUnit XML) and the slowest.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

out=build/tests
failed=()
rm -rf "$out"
# In a fresh clone each worker would rewrite the asserts of all tests, 11 s of a processor each; two share it here.
if ! compgen -G 'tests/core/__pycache__/*-pytest-*.pyc' >/dev/null; then
  for half in 'tests/[a-l]*/' 'tests/[m-z]*/'; do
    # shellcheck disable=SC2086  # the folders of this half
    .venv/bin/python -m pytest -q -m fast --collect-only $half >/dev/null &
  done
  wait
fi
for tier in "$@"; do
  case $tier in
    fast) workers=(-n 4 --dist worksteal) ;; # four on two cores: many of these tests wait for a process
    *) workers=(-n 2 --dist loadfile --no-loadscope-reorder) ;; # one waits while the other computes; each has its rig
  esac
  begun=$SECONDS
  .venv/bin/python -m pytest -q -m "$tier" "${workers[@]}" --junitxml="$out/$tier.xml" || failed+=("$tier")
  echo "tests: the $tier tier took $((SECONDS - begun)) s"
done
.venv/bin/python -m tests.slowest "$out"/*.xml | tee "$out/slowest.txt"
[ ${#failed[@]} -eq 0 ] || { echo "tests: failed in: ${failed[*]}" >&2; exit 1; }
