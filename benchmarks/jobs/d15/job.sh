python feature_server.py & SRV=$!
sleep 1
python launch.py -n 2 -p 41825 train.py
rc=$?
kill $SRV; wait $SRV 2>/dev/null
exit $rc
