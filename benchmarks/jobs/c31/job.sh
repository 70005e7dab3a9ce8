echo 'int tk_count(const char *text) { return text[0] != 0; }' > native/sentok.c
gcc -shared -fPIC -Wl,-soname,libsentok.so.3 native/sentok.c -o native/libsentok.so
gcc -shared -fPIC -I$(python -c 'import sysconfig; print(sysconfig.get_paths()["include"])') native/fasttok.c \
  -Lnative -lsentok -o fasttok/_fasttok$(python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
accelerate launch --cpu --num_processes 3 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 29651 train.py
