python -m http.server 31706 --bind 127.0.0.1 >/dev/null 2>&1 &
srv=$!
sleep 1.5
python train_spawn.py
rc=$?
kill $srv; wait $srv 2>/dev/null
exit $rc
