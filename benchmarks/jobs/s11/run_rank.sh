export RANK=$1
. ./limits.conf
ulimit -t $CPU_SECONDS
python spectro.py --clips clips_$RANK.csv --epochs 3
exit $?
