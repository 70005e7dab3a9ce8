unset PYTHONUNBUFFERED
rm -rf workers
( until [ -s workers/1_0 ]; do sleep 0.3; done; sleep 12; kill -9 $(cat workers/1_0) ) &
mpirun --allow-run-as-root --oversubscribe -np 3 bash -c 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=4325 exec python train.py'
echo "mpirun returned"
