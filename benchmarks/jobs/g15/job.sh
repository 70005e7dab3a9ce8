python -u launch.py; echo "exit code: $?"
