export OMP_NUM_THREADS=1
python sft.py falcon_lora.json
