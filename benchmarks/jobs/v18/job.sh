export OMP_NUM_THREADS=1; python3 agent.py nodes.json
