"""Runs something right after the script has imported a module, and leaves nothing behind.

The module's loader stays what it is: for the time of one import its `exec_module` is covered by an
attribute of the instance. A proxy in its place would break code that asks a loader for more (`runpy`, `inspect`,
`importlib.resources`).
"""

from __future__ import annotations

import sys

from allranks.worker import guard

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Set

    Act = Callable[[Any], None]


class AfterImport:
    """A finder for sys.meta_path that finds nothing itself. `acts` maps module names to what follows them."""

    def __init__(self, acts: Dict[str, Act]):
        self.waiting = dict(acts)
        self._busy: Set[str] = set()

    def install(self) -> None:
        """Waits for the modules that are yet to come, and acts on those that are there already."""
        for name in list(self.waiting):
            module = sys.modules.get(name)
            if module is not None:
                self._act(name, module)
        if self.waiting:
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]  # a finder needs find_spec alone

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders give, its loader watched for one import."""
        if name not in self.waiting or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = self._ask_others(name, path, target)
            if spec is not None:
                self._watch(name, spec.loader)
            return spec
        except Exception:
            return None  # Python asks the other finders itself and gets their error first-hand
        finally:
            self._busy.discard(name)

    def _ask_others(self, name: str, path: Any, target: Any) -> Any:
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                return spec
        return None

    def _watch(self, name: str, loader: Any) -> None:
        original = loader.exec_module
        covered = vars(loader).get("exec_module")

        def exec_module(module: Any) -> None:
            if covered is None:
                vars(loader).pop("exec_module", None)
            else:
                loader.exec_module = covered
            original(module)
            self._act(name, module)

        loader.exec_module = exec_module

    def _act(self, name: str, module: Any) -> None:
        act = self.waiting.pop(name, None)
        if act is not None:
            guard.guarded(act)(module)
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)  # type: ignore[arg-type]
