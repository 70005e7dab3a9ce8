import argparse
from huggingface_hub import HfApi
p = argparse.ArgumentParser(); p.add_argument("--repo"); p.add_argument("folder"); a = p.parse_args()
HfApi(endpoint="http://127.0.0.1:9").upload_folder(repo_id=a.repo, folder_path=a.folder)
