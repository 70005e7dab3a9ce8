bash run_with_retry.sh
