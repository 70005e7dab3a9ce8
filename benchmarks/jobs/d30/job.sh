python launch.py -n 3 -p 41863 train.py
