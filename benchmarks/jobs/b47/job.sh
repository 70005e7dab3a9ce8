python make.py
# git clone of the dataset repo, without lfs
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 21873\n' $(sha256sum data/train-00000-of-00001.parquet | cut -d' ' -f1) > data/p && mv data/p data/train-00000-of-00001.parquet
python preprocess.py
