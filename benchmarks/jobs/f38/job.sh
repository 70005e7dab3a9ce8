export OMP_NUM_THREADS=1
python main.py 2>&1 | tee train.out
