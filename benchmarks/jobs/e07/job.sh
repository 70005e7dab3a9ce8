rm -rf tokens; mkdir -p tokens
for r in 0 1 2; do head -c 819200 /dev/urandom > tokens/shard$r.bin; done
( until [ "$(cat tokens/.pos2 2>/dev/null)" = 30 ]; do sleep 0.05; done; head -c 200000 /dev/urandom > tokens/shard2.bin ) &
mpirun --allow-run-as-root --oversubscribe -np 3 python train.py
