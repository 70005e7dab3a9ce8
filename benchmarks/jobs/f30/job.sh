export OMP_NUM_THREADS=1
python train.py
