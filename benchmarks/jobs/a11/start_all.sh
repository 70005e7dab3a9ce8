python worker.py --rank 0 &
python worker.py --rank 1 &
python worker.py --rank 1 &
wait
