export OMP_NUM_THREADS=1
python lora_loop.py
