bash start_workers.sh
