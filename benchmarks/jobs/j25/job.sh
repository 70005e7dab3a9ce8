bash run_local.sh
