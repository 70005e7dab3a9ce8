cat config.yaml
mpirun --allow-run-as-root --oversubscribe -n 2 python train.py
