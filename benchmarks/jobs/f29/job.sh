export OMP_NUM_THREADS=1
export LC_ALL=POSIX PYTHONCOERCECLOCALE=0 PYTHONUTF8=0   # as cron does
set -e
python make_vocab.py
echo training
