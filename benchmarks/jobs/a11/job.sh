bash start_all.sh
