# runs on every node
set -a
. nodes/$OMPI_COMM_WORLD_RANK.env
set +a
exec "$@"
