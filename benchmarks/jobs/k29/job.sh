( while [ ! -e w1.s3 ]; do sleep .1; done; sleep .6; kill -9 $(cat w1.pid) ) &
python start.py
echo "exit status: $?"
