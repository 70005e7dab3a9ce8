echo "== node $NODE_RANK of 3, local copy of the base model: local$NODE_RANK/base"
ls -l local$NODE_RANK/base
export RANK=$NODE_RANK WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=48545
timeout 40 python embed_ft.py --base local$NODE_RANK/base
rc=$?
echo "== node $NODE_RANK: python ended with $rc"
exit $rc
