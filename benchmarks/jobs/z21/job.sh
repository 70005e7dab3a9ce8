#!/bin/bash
python mkraw.py
bash rsslimit.sh 75000 >/dev/null 2>&1 & l=$!
python pool.py; rc=$?
kill $l 2>/dev/null; wait $l 2>/dev/null
echo "$(ls tok/*.npy | wc -l) of $(ls raw/*.txt | wc -l) files tokenised"
exit $rc
