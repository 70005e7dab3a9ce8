timeout 40 bash start.sh
