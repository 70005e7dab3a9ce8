bash supervise.sh
