python -W always asr.py --nproc 3
echo "rc $?"
