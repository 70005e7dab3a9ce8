export OMP_NUM_THREADS=1
python prep.py && python launch.py 4 finetune.py
