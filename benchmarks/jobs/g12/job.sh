./pipeline.sh
