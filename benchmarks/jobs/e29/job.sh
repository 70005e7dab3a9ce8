rm -rf runs
ulimit -n 256
python train.py
