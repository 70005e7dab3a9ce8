"""Reaches a node of a SLURM job with `srun --overlap`: some sites close SSH, and this way stays inside the
allocation."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence

from allranks.launch.launchers.slurm.words import WITHOUT
from allranks.transport import answer_marks
from allranks.transport.base import Completed, Unreachable
from allranks.transport.local import LocalTransport

READING = {"version", "read", "follow", "stop", "sweep", "clean"}
REFUSED = re.compile(
    rb"(?im)^srun: (?:error|Job)\b.*(?:Invalid job id|already completing|already completed|revoked|expired"
    rb"|Unable to confirm allocation|Requested nodes are busy|complet|cancel)"
)
"""srun's own messages if it gets no step in a job. The program's output is in the same stream."""

ENDED = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "DEADLINE", "FAILED"}
    | {"NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"}
)
"""squeue's states of a job that no longer holds its nodes (squeue(1), JOB STATE CODES)."""


class SlurmTransport:
    """Runs commands on one node of a job. When the job has ended, its nodes may belong to another user, and SLURM has
    ended every process of the run. Verbs that only read then run here, where the run's folder is on a shared home."""

    def __init__(self, node: str, job: str):
        self.node, self.job = node, job
        self.here = LocalTransport(node)
        self.gone = False

    def words(self, argv: Sequence[str]) -> list[str]:
        place = [f"--jobid={self.job}", f"--nodelist={self.node}", "--nodes=1", "--ntasks=1"]
        how = ["--overlap", "--quiet", "--unbuffered", "--cpu-bind=none", "--chdir=/"]
        # The caller's whole environment is not passed on, because it may contain a secret.
        how.append("--export=PATH,HOME,USER,LOGNAME,LANG,LD_LIBRARY_PATH,ALLRANKS_HOME")
        return [*WITHOUT, "srun", *place, *how, "--", *answer_marks.words(argv)]

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_seconds: float = 60.0
    ) -> Completed:
        if not self.gone:
            done = await self.here.run(self.words(argv), stdin=stdin, timeout_seconds=timeout_seconds)
            if answer_marks.MARK in done.out or not done.code:
                return answer_marks.own(self.node, done, stdin)
            if not REFUSED.search(done.err) or not await self.has_ended():
                return done
            self.gone = True
        return await self.here.run(self._here(argv), stdin=stdin, timeout_seconds=timeout_seconds)

    async def has_ended(self) -> bool:
        """Whether SLURM reports that the job no longer holds a node. False if SLURM does not answer."""
        try:
            # One task of an array has the array's number, for which squeue lists the others, too.
            done = await self.here.run(["squeue", "-h", "-r", "-j", self.job, "-o", "%A %T"])
        except Unreachable:
            return False
        if done.code != 0:
            return b"Invalid job id" in done.err
        lines = [line.split() for line in done.out.decode("utf-8", "replace").splitlines()]
        return all(line[-1] in ENDED for line in lines if line[:1] == [self.job])

    def stream(self, argv: Sequence[str], *, stdin: bytes = b"") -> AsyncGenerator[bytes, None]:
        if self.gone:
            return self.here.stream(self._here(argv), stdin=stdin)
        return answer_marks.own_lines(self.node, self.here.stream(self.words(argv), stdin=stdin), stdin)

    async def close(self) -> None:
        return None

    def _here(self, argv: Sequence[str]) -> list[str]:
        verb = next((word for word in argv if word in READING), None)
        if verb is None:
            raise Unreachable(self.node, "job-ended", f"SLURM's job {self.job} has ended")
        return [*argv, "--gone", self.node] if verb in ("sweep", "clean") else list(argv)
