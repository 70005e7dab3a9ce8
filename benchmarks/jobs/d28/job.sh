rm -f feat_*; touch cache.lock
( until [ -e feat_0_3.pt ]; do sleep 0.2; done; exec flock cache.lock sleep 34 ) &
python watchdog.py 25 python launch.py -n 2 -p 41861 train.py
