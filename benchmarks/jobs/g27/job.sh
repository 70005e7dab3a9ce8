bash start_nodes.sh
