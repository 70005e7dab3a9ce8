# site policy: interactive nodes are limited per process
ulimit -t 15
exec python distill.py --epochs 12
