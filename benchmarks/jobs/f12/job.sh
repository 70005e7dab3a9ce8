export OMP_NUM_THREADS=1
export HF_HOME=$PWD/hf_home
export HF_HUB_OFFLINE=0
python train_rm.py
