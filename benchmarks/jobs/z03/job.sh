#!/bin/bash
export GLOO_SOCKET_IFNAME=lo
rm -rf logs cache; mkdir -p logs cache
nice -n 19 python tokenise_ahead.py & bg=$!
sleep 1
python pretrain.py 2> logs/launcher.log
rc=$?
kill $bg 2>/dev/null; wait $bg 2>/dev/null
exit $rc
