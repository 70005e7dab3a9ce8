bash sync.sh
python train.py
