python prepare_tok.py
python train.py
