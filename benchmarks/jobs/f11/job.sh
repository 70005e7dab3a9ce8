export OMP_NUM_THREADS=1
bash build.sh
torchrun --nproc-per-node=2 --master-port=29651 train.py
