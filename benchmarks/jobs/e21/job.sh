rm -rf state logs
mpirun --allow-run-as-root --oversubscribe -np 3 python sft.py > first_run.txt 2>&1
truncate -s 24576 state/rank1/step00010.ckpt
mpirun --allow-run-as-root --oversubscribe -np 3 --output-filename logs python sft.py
