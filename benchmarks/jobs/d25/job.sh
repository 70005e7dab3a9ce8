bash pipeline.sh
