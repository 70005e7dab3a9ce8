#!/bin/bash
unset PYTHONUNBUFFERED
echo "Job started on $(date)"
printf '127.0.0.1 slots=2\n' > hosts
mpirun --allow-run-as-root --hostfile hosts -np 4 --mca plm isolated python train_mpi.py
echo "gathering metrics"
cat metrics/*.txt 2>/dev/null | sort -n | tail -1 > best.txt
echo "best value: $(cat best.txt)"
echo "Job completed on $(date)"
exit 0
