#!/bin/bash
cd "$(dirname "$0")"
python reward_server.py --port 48351 &
srv=$!
timeout --signal=INT --kill-after=4 26 torchrun --nproc-per-node=3 --master-addr=127.0.0.1 --master-port=48313 ppo.py --reward http://127.0.0.1:48351
rc=$?
echo "ppo.py: rc=$rc"
kill -9 $srv; wait $srv 2>/dev/null
exit $rc
