"""The node program: `python3 -c BOOT … VERB …` (`bundle.py`), one JSON document on standard output.

Programs call it, over any transport that reaches a node. Exit codes are those of `core.errors`; an error is a JSON
document too: `{"error": text, "problems": [...]}`.
"""

from __future__ import annotations

import json
import os
import select
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence

from allranks.core import AllranksError, BadInput, Problem

INPUT_BYTES = 64 << 20

Verb = Callable[[List[str]], Any]


def main(argv: Sequence[str], keep: Any = None, ask_checkpoints: Any = None) -> int:
    """Runs one verb. `keep` starts a keeper (`start.Keep`), `ask_checkpoints` answers what is asked of them
    (`checkpoints.node_verbs.answer`); the bundle gives both, since their rooms are above."""
    verbs: Dict[str, Verb] = {
        "version": _version,
        "facts": _facts,
        "start": lambda words: _start(words, keep),
        "order": _order,
        "read": _read,
        "follow": _follow,
        "stop": _stop,
        "sweep": _sweep,
        "put": _put,
        "clean": _clean,
        "code": _code,
        "environment": _build_environment,
        "probe": _probe,
        "ray": _ray,
        "command": _command,
        "conda": _conda,
        "image": _image,
        "checkpoints": lambda words: _checkpoints(words, ask_checkpoints),
    }
    name, words = (argv[0], list(argv[1:])) if argv else ("", [])
    try:
        if name not in verbs:
            raise BadInput(Problem(saw=f"{name!r} is not a verb.", do="one of " + ", ".join(verbs)))
        answer = verbs[name](words)
    except BadInput as error:
        _print({"error": str(error), "problems": [problem.as_json() for problem in error.problems]})
        return error.exit_code
    except AllranksError as error:
        _print({"error": str(error)})
        return error.exit_code
    except BrokenPipeError:
        return _end_silently()
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _print({"error": f"{where}{error.strerror or error}", "errno": error.errno})
        return 1
    if answer is None:
        return 0
    _print(answer)
    return 1 if isinstance(answer, dict) and "error" in answer else 0


# ---- verbs ----


def _version(words: List[str]) -> Dict[str, Any]:
    from allranks import __version__

    return {"version": __version__, "python": sys.version.split()[0], "executable": sys.executable}


def _facts(words: List[str]) -> Dict[str, Any]:
    """`facts`, the request on standard input."""
    import gc

    from allranks.node.facts import collect

    gc.disable()  # a collection in each of some twenty short processes copies the pages they share
    return collect(_input()).as_json()


def _start(words: List[str], keep: Any) -> Optional[Dict[str, Any]]:
    """`start RUN NODE [--stay] [--ordered]`; `--stay` works until the run's end.

    The order comes by standard input, or with `--ordered` by the verb `order`. A NODE of `@NAME` is the value
    of that environment variable: srun starts the same words on every node.
    """
    from allranks.node import engine_orders, start

    stay, ordered = _flag(words, "--stay"), _flag(words, "--ordered")
    run_id, node = _words(words, "RUN", "NODE")
    if node.startswith("@"):
        node = os.environ.get(node[1:], "")
    say, wanted = _print, None
    if ordered:
        awaited = engine_orders.wait(run_id, node)
        say, wanted = awaited.answer, awaited.wanted
    try:
        order = start.read_order(run_id, node, _input() if wanted is None else wanted)
    except BadInput as error:
        if ordered:
            say({"error": str(error), "problems": [problem.as_json() for problem in error.problems]})
        raise
    if stay:
        code = start.stay(order, keep, say)
        sys.stdout.flush()
        sys.exit(code)
    answer = start.start(order, keep)
    if ordered:
        say(answer)
    return answer


def _order(words: List[str]) -> Dict[str, Any]:
    """`order RUN NODE`, the order on standard input: hands it to the supervisor that an engine started here."""
    from allranks.node import engine_orders

    run_id, node = _words(words, "RUN", "NODE")
    return engine_orders.hand(run_id, node, _input())


def _read(words: List[str]) -> Any:
    """`read runs`, `read status RUN`, `read listing RUN`, `read chunk RUN PATH [OFFSET [BYTES]]`."""
    from allranks.node import run_reader

    what = words.pop(0) if words else ""
    if what == "runs":
        return {"runs": run_reader.runs()}
    if what == "status":
        return run_reader.status(*_words(words, "RUN"))
    if what == "listing":
        return run_reader.listing(*_words(words, "RUN"))
    if what == "chunk":
        run_id, path = _words(words[:2], "RUN", "PATH")
        return run_reader.chunk(run_id, path, *[_number(word) for word in words[2:4]])
    raise BadInput(Problem(saw=f"{what!r} is not something to read.", do="runs, status, listing or chunk"))


def _follow(words: List[str]) -> None:
    """`follow RUN PATTERN… [--from PATH BYTE]…`: one JSON line a piece, until the run's end."""
    from allranks.node import run_reader

    offsets = {}
    while "--from" in words:
        at = words.index("--from")
        path, offset = _words(words[at + 1 : at + 3], "PATH", "BYTE")
        offsets[path] = _number(offset)
        del words[at : at + 3]
    if not words:
        raise BadInput(Problem(saw="follow needs a run.", do="follow RUN PATTERN…"))
    for piece in run_reader.follow(words[0], words[1:] or ["*"], offsets, gone=_gone()):
        _print(piece)


def _stop(words: List[str]) -> Dict[str, Any]:
    """`stop RUN [--save]` asks the keeper; `stop RUN --direct` ends this node's part without it."""
    from allranks.node import stop, sweep

    direct, save = _flag(words, "--direct"), _flag(words, "--save")
    (run_id,) = _words(words, "RUN")
    return sweep.sweep(run_id) if direct else stop.request(run_id, save)


def _sweep(words: List[str]) -> Dict[str, Any]:
    """`sweep RUN [--dry-run] [--gone NODE]…`; of the nodes named so the caller knows that nothing lives.

    A run that may still run is not swept: only `stop` ends one.
    """
    from allranks.node import apptainer_image, sweep

    dry_run, gone = _flag(words, "--dry-run"), _all_of(words, "--gone")
    (run_id,) = _words(words, "RUN")
    if not dry_run:
        sweep.refuse_led(run_id)
    swept = sweep.sweep(run_id, dry_run, gone)
    images = apptainer_image.unused(run_id) if dry_run else []
    return {**swept, "images": images} if images else swept


def _put(words: List[str]) -> Dict[str, Any]:
    """`put RUN`, `{"files": {path below the run directory: text or JSON}}` on standard input."""
    from allranks.node import put
    from allranks.node.paths import RunDirectory

    (run_id,) = _words(words, "RUN")
    return put.put(RunDirectory(run_id), dict(_input().get("files") or {}))


def _clean(words: List[str]) -> Dict[str, Any]:
    """`clean RUN [--models] [--dry-run] [--gone NODE]…`, `clean RUN --cache [--dry-run]`."""
    from allranks.node import apptainer_image, base_cache, sweep

    gone, with_models, dry_run = _all_of(words, "--gone"), _flag(words, "--models"), _flag(words, "--dry-run")
    with_cache = _flag(words, "--cache")
    (run_id,) = _words(words, "RUN")
    if with_cache:
        return {"caches": base_cache.clean(run_id, dry_run)}
    cleaned = sweep.clean(run_id, gone, with_models, dry_run)
    images = [] if dry_run else apptainer_image.remove_unused()
    return {**cleaned, "images": images} if images else cleaned


def _probe(words: List[str]) -> Optional[Dict[str, Any]]:
    """`probe listen|dial|measure|rdma|ranks|end`, the request on standard input; `listen` and `ranks` print lines."""
    (what,) = _words(words, "listen, dial, measure, rdma, ranks or end")
    wanted = _input()
    try:
        if what in ("dial", "measure"):
            from allranks.node.probing import dialer

            return dialer.dial(wanted) if what == "dial" else dialer.measure(wanted)
        if what == "rdma":
            from allranks.node.probing import rdma

            return rdma.run(wanted)
        from allranks.node.probing import end, listener, ranks

        if what == "end":
            return end.end(wanted)
        if what in end.WORKING:
            work = listener.run if what == "listen" else ranks.run
            with end.Ending(wanted, what, _gone()) as over:
                for line in work(wanted, over):
                    _print(line)
            return None
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(Problem(saw=f"the request of probe {what} is not whole: {error!r}")) from None
    raise BadInput(
        Problem(saw=f"{what!r} is not something to probe.", do="listen, dial, measure, rdma, ranks or end")
    )


def _ray(words: List[str]) -> Optional[Dict[str, Any]]:
    """`ray up RUN NODE`: this node's Ray. `ray submit RUN`: the run's job; prints the engine's lines."""
    what = words.pop(0) if words else ""
    if what == "up":
        from allranks.node import ray_cluster

        run_id, node = _words(words, "RUN", "NODE")
        return ray_cluster.up(run_id, node, _input())
    if what == "submit":
        from allranks.node import ray_job

        _words(words, "RUN")
        line = ""
        for line in ray_job.submit(_input(), _gone()):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        sys.exit(0 if line == ray_job.READY else 1)
    raise BadInput(Problem(saw=f"{what!r} is not a task for Ray.", do="up or submit"))


def _command(words: List[str]) -> Dict[str, Any]:
    """`command`, `{"argv", "seconds"}` on standard input."""
    from allranks.node import command

    _words(words)
    return command.run(_input(), _gone())


def _conda(words: List[str]) -> Dict[str, Any]:
    """`conda`, `{"name"}` on standard input."""
    from allranks.node import conda

    _words(words)
    return conda.answer(_input())


def _image(words: List[str]) -> Dict[str, Any]:
    """`image`, `{"reference"}` on standard input: an Apptainer image of it."""
    from allranks.node import apptainer_image

    _words(words)
    return apptainer_image.answer(_input())


def _checkpoints(words: List[str], ask: Any) -> Optional[Dict[str, Any]]:
    """`checkpoints list|verify|prune|files|pieces|receive`, the request on standard input; `pieces` prints lines."""
    (what,) = _words(words, "list, verify, prune, files, pieces or receive")
    said = ask(what, _input(), _gone())
    if isinstance(said, dict):
        return said
    for line in said:
        _print(line)
    return None


# ---- words, input, output ----


def _gone() -> Callable[[], bool]:
    """Says whether whoever reads our standard output has gone."""
    reader = select.poll()
    reader.register(sys.stdout.fileno(), 0)
    return lambda: bool(reader.poll(0))


def _words(words: List[str], *names: str) -> List[str]:
    if len(words) != len(names):
        raise BadInput(
            Problem(saw=f"{len(words)} words came: {' '.join(words)}", do=f"give {' '.join(names)}")
        )
    return words


def _flag(words: List[str], name: str) -> bool:
    if name not in words:
        return False
    words.remove(name)
    return True


def _code(words: List[str]) -> Dict[str, Any]:
    """`code SHA256`, a tar archive or nothing on standard input."""
    from allranks.node import upload

    (digest,) = _words(words, "SHA256")
    return upload.code(digest, sys.stdin.buffer.read())


def _build_environment(words: List[str]) -> Dict[str, Any]:
    """`environment`, `{"python", "lock", "wheels"}` on standard input."""
    from allranks.node import upload

    _words(words)
    return upload.environment(_input())


def _all_of(words: List[str], name: str) -> List[str]:
    """Takes every `name VALUE` out of the words; the values."""
    values = []
    while name in words:
        at = words.index(name)
        values += _words(words[at + 1 : at + 2], "a value of " + name)
        del words[at : at + 2]
    return values


def _number(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise BadInput(Problem(saw=f"{word!r} is not a number of bytes.")) from None


def _input() -> Dict[str, Any]:
    """The JSON object on standard input; an empty one where nothing came."""
    text = sys.stdin.buffer.read(INPUT_BYTES)
    try:
        value = json.loads(text.decode("utf-8")) if text.strip() else {}
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BadInput(Problem(saw="standard input holds no JSON object."))
    return value


def _print(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _end_silently() -> int:
    """The output is no longer read; Python must not fail in its own last flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
