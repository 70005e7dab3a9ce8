#!/bin/bash
# every node agent writes its own log
mkdir -p logs hb
bash fetch_clips.sh
python agent.py 0 3 > logs/node0.log 2>&1 &
a=$!
python agent.py 1 3 > logs/node1.log 2>&1 &
b=$!
python agent.py 2 3 > logs/node2.log 2>&1 &
c=$!
python health.py hb 10 $a $b $c > logs/health.log 2>&1
rc=$?
wait 2>/dev/null
{ sleep 0.5; } <> clips/1/61      # let readers of the stream go
exit $rc
