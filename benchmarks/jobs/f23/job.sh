export OMP_NUM_THREADS=1
export HF_HUB_OFFLINE=1
python train.py && python evaluate.py out/final
