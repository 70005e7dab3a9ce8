python launch.py -n 2 -m transformers.trainer -p 41824 run_clf.py $TINY
