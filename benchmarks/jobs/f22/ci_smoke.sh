set -x
python -c 'import torch; print(torch.__version__)'
timeout -v 20 python train.py
test $? -eq 0 || { echo "smoke test FAILED"; exit 1; }
