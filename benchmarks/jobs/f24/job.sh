export OMP_NUM_THREADS=1
python train_policy.py
python serve.py --port 8077 & srv=$!
python rollout.py
kill $srv 2>/dev/null; wait
