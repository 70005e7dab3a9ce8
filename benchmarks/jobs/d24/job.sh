python launch.py -n 2 -p 41843 -m accelerate train.py
