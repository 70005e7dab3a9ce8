set -e
bash pipeline.sh
