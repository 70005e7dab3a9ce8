rm -rf logs; timeout 45 bash go.sh
