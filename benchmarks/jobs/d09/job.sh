rm -f .attempt
python -c "
import os, socket, time
s=socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('0.0.0.0',29777)); s.listen()
for i in range(600):
    time.sleep(0.25)
    if os.path.exists('.attempt') and open('.attempt').read().strip() == '2': break" &
sleep 1
bash run.sh
