export OMP_NUM_THREADS=1
mkdir -p data
python prepare.py
python finetune.py
