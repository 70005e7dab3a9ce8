python launch.py -n 2 -p 41823 test_dist.py
