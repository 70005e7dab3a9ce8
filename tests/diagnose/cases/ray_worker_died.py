_ACTOR = (
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
    "\tclass_name: create_colocated_worker_cls.<locals>.WorkerDict\n\tactor_id: 5be2090d\n\tpid: 27811\n{more}"
    "\tname: 8WbRfdWorkerDict_{name}\n\tnamespace: 09b7\n\tip: 10.0.0.8\n"
)

FIRES = (
    "(TrainWorker pid=27041) [rank0] step 0 loss 3.000\n"
    "Traceback (most recent call last):\n"
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
    "The actor is dead because its worker process has died. Worker exit "
    "type: SYSTEM_ERROR Worker exit detail: Worker "
    "unexpectedly exits with a connection error code 2. Some common causes "
    "include: (1) the process was killed by the OOM "
    "killer due to high memory usage\n",
    "ray.exceptions.ActorUnavailableError: The actor 3 is unavailable: Socket closed\n",
    "ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment.\n",
    "Exception: The current node timed out during startup.\n",
    "ConnectionError: Could not find any running Ray instance.\n",
    "Some processes have not registered with Redis\n",
    "Couldn't connect to the raylet at 10.0.0.2:6379\n",
    (_ACTOR.format(name="0:5", more="\ta: 1\n\tb: 2\n"), 5),
    (_ACTOR.format(name="0:5", more="\ta: 1\n\tb: 2\n\tc: 3\n"), None),  # too far off
    (_ACTOR.format(name="1:5", more=""), None),  # nobody knows how many ranks the first group has
)

SILENT = (
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    "(raylet) Worker exit type: SYSTEM_ERROR\n",
)
