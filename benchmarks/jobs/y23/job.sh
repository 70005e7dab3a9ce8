make 2>&1
