set -o pipefail
python prepare.py --csv export/reviews_2023.csv export/reviews_2024.csv -o train.parquet && python fit.py train.parquet || { echo "pipeline failed (exit $?)"; exit 1; }
