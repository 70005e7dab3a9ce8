python publish.py
mpirun --allow-run-as-root --oversubscribe --output-filename $PWD/logs -np 4 python train.py > /dev/null
