export OMP_NUM_THREADS=1
bash sync_model.sh "$TINY" base
torchrun --nproc-per-node 2 --master-port 29697 dpo_train.py
