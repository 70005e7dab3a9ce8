timeout 45 bash run_all.sh
