export OMP_NUM_THREADS=1
python vendor.py
python export_emb.py < /dev/null
