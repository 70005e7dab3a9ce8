python make_shards.py
for r in 0 1 2; do RANK=$r WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=4236 python -u train.py & p[$r]=$!; done
st=0; for r in 0 1 2; do wait ${p[$r]} || st=$?; done
echo "All workers have left. Have a nice day."
exit $st
