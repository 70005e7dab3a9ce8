( until [ -e rank2.it12 ]; do sleep 0.2; done; kill $(cat rank2.pid) ) &
mpirun --allow-run-as-root --oversubscribe -x OMP_NUM_THREADS --tag-output --timestamp-output -np 3 python pretrain_gpt.py
