# account defaults of the login profile
ulimit -f 16384
mpirun --allow-run-as-root --oversubscribe -np 2 python train.py
