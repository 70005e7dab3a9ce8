cd "$(dirname "$0")" && make --no-print-directory all
