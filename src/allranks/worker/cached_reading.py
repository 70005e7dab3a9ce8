"""Reads a rank's bytes of the base model from its node's cache, or from the files and into the cache."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Callable, Dict, List, Optional

from allranks.core.cache_folder import Unsafe
from allranks.worker import base_cache, partition_reading, read_turns
from allranks.worker.base_cache import Cache, Damaged
from allranks.worker.block_scales import Scales
from allranks.worker.partition_plan import Own, Plan
from allranks.worker.rank_identity import RankIdentity
from allranks.worker.read_ahead import ReadAhead
from allranks.worker.weight_files import Files

CACHE = "cache"
DONE = ("read from it", "written to it")

Tell = Callable[[int], None]


class CachedReading:
    """`notes` say what the cache did, or why it did not."""

    def __init__(self, files: Files, place: RankIdentity):
        self.files, self.place = files, place
        self.is_in_use = False
        """Whether the bytes come from the cache now."""
        self.notes: List[str] = []
        self.unused: List[str] = []
        """Those that say why it was not used or not written."""

    def fill(self, plan: Plan, content: str, scales: Optional[Scales], tell: Tell) -> None:
        """Puts the values into all parts, and compares samples with the files. `content` is the digest of the files'
        headers and samples. Raises CannotRead."""
        size = partition_reading.bytes_of(plan.own, self.files)
        cache = self.opened() if size else None
        try:
            layout = self.layout(plan, content) if cache is not None else {}
            if cache is None or not self.from_cache(cache, layout, plan, scales, tell):
                self.from_files(cache, layout, plan, size, scales, tell)
        finally:
            if cache is not None:
                self.notes += ["cache: %s" % note for note in cache.notes]
                self.unused += [note for note in cache.notes if not note.startswith(DONE)]
                cache.close()

    def opened(self) -> Optional[Cache]:
        try:
            return base_cache.opened(os.environ)
        except (Unsafe, OSError) as error:
            self.notes.append("cache: not used: %s" % error)
            self.unused.append("not used: %s" % error)
            return None

    def layout(self, plan: Plan, content: str) -> Dict[str, Any]:
        """All that the bytes depend on. The plan's digest has the names, shapes and types of the parts."""
        ranges = [(one.name, list(map(tuple, one.stretches))) for one in plan.own]
        return {
            "files": self.files.states(),
            "content": content,
            "plan": plan.digest,
            "ranges": hashlib.sha256(repr(ranges).encode("utf-8")).hexdigest(),
            "world_size": self.place.world_size,
            "rank": self.place.rank,
        }

    def from_cache(
        self, cache: Cache, layout: Dict[str, Any], plan: Plan, scales: Optional[Scales], tell: Tell
    ) -> bool:
        """Whether the parts hold what the cache has for them. If not, the bytes that it reported are taken back. Raises
        CannotRead for the base's own files: the scales of one in fp8 are read from there in any case."""
        part = cache.part(layout)
        if part is None:
            return False
        told: List[int] = []

        def tells(count: int) -> None:
            told.append(count)
            tell(count)

        self.is_in_use = True
        try:
            self.fill_all(plan.own, scales, tells, part.read)
            part.check()
            partition_reading.compare_samples(plan.own, self.files, scales)
        except (Damaged, partition_reading.Differs) as error:
            cache.refuse(layout, str(error))
            tell(-sum(told))
            return False
        finally:
            self.is_in_use = False
            part.close()
        cache.notes.append("read from it: %s bytes" % format(sum(told), ","))
        return True

    def from_files(
        self,
        cache: Optional[Cache],
        layout: Dict[str, Any],
        plan: Plan,
        size: int,
        scales: Optional[Scales],
        tell: Tell,
    ) -> None:
        draft = cache.draft(layout, size) if cache is not None else None
        turns = read_turns.turns(
            os.environ, self.files.paths[0] if self.files.paths else "", self.place.local_rank
        )

        ahead = ReadAhead(plan.own, self.files)

        def read(name: str, first: int, target: memoryview) -> None:
            turns.take(len(target))
            ahead.reads(len(target))
            self.files.read(name, first, target)
            if draft is not None:
                draft.write(target)

        try:
            self.fill_all(plan.own, scales, tell, read)
            turns.close()
            partition_reading.compare_samples(plan.own, self.files, scales)
            self.files.check_unchanged()
            if cache is not None and draft is not None:
                draft.finish(layout)
                wrote = "written to it: %s bytes" % format(size, ",")
                cache.notes.append("not written: %s" % draft.failed if draft.failed else wrote)
        finally:
            turns.close()
            if draft is not None:
                draft.drop()

    def fill_all(
        self, own: List[Own], scales: Optional[Scales], tell: Tell, read: partition_reading.Read
    ) -> None:
        for one in own:
            partition_reading.fill(one, self.files, scales, tell, read)
