export MASTER_ADDR=127.0.0.1 MASTER_PORT=41862
mpirun --allow-run-as-root --oversubscribe --tag-output -np 2 -x MASTER_ADDR -x MASTER_PORT python train.py
