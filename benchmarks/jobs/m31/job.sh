timeout 50 bash train.sh
