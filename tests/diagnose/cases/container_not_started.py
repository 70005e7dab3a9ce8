FIRES = (
    "ERRO[0000] failed to create NVIDIA Container Runtime: error locating runtime: no runtime binary found\n",
    "docker: Error response from daemon: unknown or invalid runtime name: nvidia.\n",
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n',
    "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock\n",
    "slurmstepd: error: pyxis: child 4411 failed with error code: 1\n"
    "slurmstepd: error: pyxis: failed to import docker image\n"
    "srun: error: gpu-3: task 1: Exited with exit code 1\n",
    'docker: Error response from daemon: OCI runtime create failed: exec: "x": executable file not found in $PATH\n',
    "docker: Error response from daemon: manifest for team/train:7 not found: manifest unknown\n",
    "FATAL:   container creation failed: mount hook function failure\n",
    "  Warning  Failed  3s  kubelet  Error: ImagePullBackOff\n",
    'Error from server (BadRequest): container "main" in pod "w-1" is waiting to start: PodInitializing\n',
    "The worker has a wrong image and is stuck\n",
    'MountVolume.SetUp failed for volume "data": timed out\n',
)

SILENT = (
    "pyxis: imported docker image: team/train:7\nstep 1 loss 2.1\n{'train_runtime': 9.1}\n",
    "I run it in two docker containers, which reports an error\nNCCL error in: x.cpp:3, unhandled system error\n",
)
