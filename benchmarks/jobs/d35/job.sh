python launch.py -n 3 -p 41874 main.py --tensor-parallel 2 --global-batch 24
