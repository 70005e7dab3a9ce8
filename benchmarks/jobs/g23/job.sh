python -u forecast.py --patience 3 --lr 0.02
