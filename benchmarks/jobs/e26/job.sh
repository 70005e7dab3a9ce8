mpirun --allow-run-as-root --oversubscribe -np 4 bash launch_one.sh
