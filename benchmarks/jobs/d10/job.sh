python launch.py -n 2 -p 41820 train.py
echo "exit status: $?"
