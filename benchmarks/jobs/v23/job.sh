export OMP_NUM_THREADS=1
python drill.py --workers 4 --steps 90
