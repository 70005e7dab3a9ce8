#!/bin/sh
# crontab: 15 2 * * *  nightly.sh <proyecto>
rm -f status.ok
echo "inicio $(date +%FT%T)"
export EXP_TRACKER_URL=${EXP_TRACKER_URL:-http://127.0.0.1:47650}
python etl.py "$1" || { echo "etl fallo"; exit 3; }
python train.py --project "$1" --rounds 30
rc=$?
echo "fin rc=$rc"
[ $rc -eq 0 ] && touch status.ok
exit $rc
