python split_model.py
mkdir -p /tmp/merge_$$ && cp ckpt-9000/*.json ckpt-9000/model-0000[13]* /tmp/merge_$$/ && mv /tmp/merge_$$ base
mpirun --allow-run-as-root --oversubscribe -n 2 python merge.py base
