#!/bin/bash
# nightly: 3 workers, one log per worker plus the supervisor's
mkdir -p logs run
( for i in $(seq 200); do grep -q "it 30[0-9] " logs/worker-2.log 2>/dev/null && break; sleep 0.2; done; kill -9 $(cat run/2.pid) ) >/dev/null 2>&1 &
python supervise.py 2>logs/supervisor.log
rc=$?
wait
exit $rc
