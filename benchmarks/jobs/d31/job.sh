rm -f progress.txt launch.pid
( for i in $(seq 280); do sleep 0.5; case "$(cat progress.txt 2>/dev/null)" in 1??|2??) break;; esac; done; sleep 0.4; P=$(cat launch.pid); W=$(pgrep -P $P); kill -9 $P $W ) >/dev/null 2>&1 &
exec python launch.py -n 2 -p 41870 train.py
