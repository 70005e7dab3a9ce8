python prep.py
export MASTER_PORT=29631
mpirun --allow-run-as-root --oversubscribe --tag-output -np 4 python train_mpi.py
