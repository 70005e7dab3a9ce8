bash sweep.sh
