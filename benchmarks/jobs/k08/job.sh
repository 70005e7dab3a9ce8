python -m http.server 4208 --bind 127.0.0.1 > /dev/null 2>&1 &
P1=$!
python -m http.server 4209 --bind 127.0.0.1 > /dev/null 2>&1 &
P2=$!
sleep 1.5
python run_ddp.py
rc=$?
kill $P1 $P2
exit $rc
