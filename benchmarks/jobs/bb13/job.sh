python fileserver.py & srv=$!
sleep 1
python fetch_and_train.py; rc=$?
kill $srv; wait $srv 2>/dev/null
exit $rc
