export MASTER_ADDR=127.0.0.1 MASTER_PORT=4522 WORLD_SIZE=3 PYTHONUNBUFFERED=1
for r in 1 2; do RANK=$r python worker.py 2>&1 | sed "s/^/node$r: /" & done
sleep 10
RANK=0 python worker.py 2>&1 | sed "s/^/node0: /"
wait
