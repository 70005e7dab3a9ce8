python -m http.server 4620 --bind 127.0.0.1 --directory docs > /dev/null 2>&1 &
DOCS=$!
bash train_and_serve.sh; rc=$?
kill $DOCS
exit $rc
