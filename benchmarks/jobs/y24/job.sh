#!/bin/bash
mkdir -p metrics
python -m http.server 48125 --bind 127.0.0.1 --directory metrics &
side=$!
deepspeed --num_gpus 2 --master_port 48126 zero_ft.py --deepspeed --deepspeed_config zero2.json
rc=$?
curl -s -o /dev/null http://127.0.0.1:48125/loss.csv || python -c "import urllib.request as u; print(len(u.urlopen('http://127.0.0.1:48125/loss.csv').read()), 'bytes of metrics')"
kill $side
wait $side
echo "sidecar ended with $?"
exit $rc
