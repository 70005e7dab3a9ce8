for r in 0 1; do mkdir -p ext_cache/$r/fused_bias; done; touch ext_cache/0/fused_bias/lock
mpirun --allow-run-as-root --oversubscribe -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=4416 -np 2 bash -c 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=2 exec python -u train.py'
