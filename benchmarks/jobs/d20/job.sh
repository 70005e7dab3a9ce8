python launch.py -n 3 -p 41833 train_and_eval.py
