# pull base model from the nas, resume partial files
SRC=$1 DST=$2
mkdir -p $DST
for f in $SRC/*; do dd if=$f of=$DST/$(basename $f) bs=8k count=8 status=none; done
ls -l $DST | awk '{print $5, $9}'
