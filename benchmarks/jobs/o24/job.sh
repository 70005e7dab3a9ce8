bash -x scripts/launch.sh configs/tiny.json
