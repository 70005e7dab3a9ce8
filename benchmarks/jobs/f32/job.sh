export OMP_NUM_THREADS=1
python etl.py
torchrun --nproc-per-node 3 --master-port 29695 --log-dir logs --redirects 3 train.py
