cd "$(dirname "$0")"
python train_tagger.py 2>&1 | tee run.txt
exit ${PIPESTATUS[0]}
