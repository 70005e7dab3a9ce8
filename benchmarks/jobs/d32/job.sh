python launch.py -n 2 -p 41871 train.py
