"""A report that was folded while the run went on is the one that its journal gives."""

from __future__ import annotations

import json
import re

from allranks.output import report, report_live


def without_time(page: str) -> str:
    return re.sub(r"Made by allranks[^<]*", "", page)


def test_it_is_the_page_of_the_journal(journals, tmp_path):
    folder = journals.healthy().write(tmp_path / "run")
    live = report_live.Live(3)
    journal = folder / "keeper" / "journal.jsonl"
    for line in journal.read_text().splitlines():
        live.add(json.loads(line))
    read = report.render(report.collect(str(folder)))
    assert without_time(live(str(folder))) == without_time(read)


def test_what_cannot_be_folded_is_read_at_the_end(journals, tmp_path):
    folder = journals.healthy().write(tmp_path / "run")
    live = report_live.Live(3)
    live.add(None)  # type: ignore[arg-type]  # nothing of the kind comes; a fault of ours might
    assert live.collector is None
    read = report.render(report.collect(str(folder)))
    assert without_time(live(str(folder))) == without_time(read)


def test_many_ranks_have_coarser_series():
    assert report_live.Live(24).collector.steps.bins == 384
    assert report_live.Live(8000).collector.steps.bins == 32
