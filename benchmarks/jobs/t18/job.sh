#!/bin/bash
# dashboard + mirror upload are best effort
python -m http.server 47540 --bind 127.0.0.1 >/dev/null 2>&1 &
OLD=$!
python dash.py & D=$!
python mirror.py & M=$!
torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 47541 run_glue_like.py --epochs 4
rc=$?
echo "training exit code $rc"
wait $D || echo "dash.py exited with $? (ignored)"
wait $M || echo "mirror.py exited with $? (ignored)"
kill $OLD; wait $OLD 2>/dev/null
exit $rc
