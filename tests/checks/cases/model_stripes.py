from tests.checks.case import fires, silent

MODEL = ("node-1", "storage", "model")


def lustre(size: int, count: object, files: int = 1) -> dict:
    """A model of `files` equal files, each of `count` stripes."""
    names = [f"model-{n}.safetensors" for n in range(files)]
    return {
        f"{node}/storage/model/{key}": value
        for node in ("node-0", "node-1", "node-2")
        for key, value in (
            ("files", {**dict.fromkeys(names, size // files), "config.json": 700}),
            ("stripes", dict.fromkeys(names[:16], count)),
        )
    }


CASES = (
    fires("cpu", lustre(10**9, 7), verdict="note", saw="7 storage targets"),
    silent("cpu", lustre(10**9, 8)),
    silent("cpu", lustre(10**9 - 1, 1)),
    silent("cpu", lustre(10 * 10**9 - 1, 8)),
    fires("cpu", lustre(10 * 10**9, 23), saw="23 storage"),
    silent("cpu", lustre(10 * 10**9, 24)),
    silent("cpu", lustre(100 * 10**9 - 1, 24)),
    fires("cpu", lustre(100 * 10**9, 71), saw="71 storage"),
    silent("cpu", lustre(100 * 10**9, 72)),
    # Many files are spread by their number: 40 files of one stripe are on up to 40 targets.
    fires("cpu", lustre(120 * 10**9, 1, files=40), saw="40 storage targets"),
    silent("cpu", lustre(120 * 10**9, 1, files=72)),
    # What lfs did not say, and numbers that are none.
    silent("cpu", lustre(10**9, None)),
    silent("cpu", lustre(10**9, "seven")),
    silent("cpu"),
)
