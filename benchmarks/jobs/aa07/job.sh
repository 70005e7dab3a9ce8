#!/usr/bin/env bash
mkdir -p out/run7 && echo '{"step": 1200}' > out/run7/state.json
timeout -k 3 28 python launch.py --gpus 0,1,2 sft.py --output out/run7
rc=$?
echo "launch.py ended with $rc"
exit $rc
