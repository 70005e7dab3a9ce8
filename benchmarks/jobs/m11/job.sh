rm -rf logs
mpirun --allow-run-as-root --oversubscribe --output-filename logs -np 1 python preprocess_train.py : -np 1 bash small.sh : -np 1 python preprocess_train.py
