#!/bin/bash
cd "$(dirname "$0")"
mkdir -p run
bash bin/lease_gc.sh run 7 &
gc=$!
python -W ignore rl_actor.py
rc=$?
kill $gc 2>/dev/null; wait $gc 2>/dev/null
exit $rc
