"""Benchmark of searching the audit: how long questions take over a log of a million records, and what filing costs a record afterwards.

    python tests/bench/audit_query.py                                # builds the log, asks, measures filing; needs about 2 GB in GUARD_BENCH_SCRATCH
    python tests/bench/audit_query.py --records 100000
    python tests/bench/audit_query.py --keep /tmp/log.db             # keeps the log, or uses the one that is there
    python tests/bench/audit_query.py --postgres                     # the same on a server: GUARD_TEST_POSTGRES or an embedded one
    python tests/bench/audit_query.py --unfiled 8000                 # asked once more with so many records that nobody has filed, as while decisions keep coming
    python tests/bench/audit_query.py --pages                        # and the console's pages over the log, and verify

The log is a month of tests/audit_month_kit.py, sealed by the store itself. Each question is asked five times on an open log, as the command
line opens it; the figure is the median, and the worst is beside it. Rare and common values are both asked for: what a person, a tool, a reason, a conversation finds may be ten records or half of
all. Filing is measured in portions as while decisions come, and as at close. A page is a GET at the console's application in this process, without a network;
what a browser does with it is not in it. The log is made up of records alone: the store has no calls and approvals to them, so verify finds each missing, and says so; that is counted
apart from everything else that it finds, and comparing rows is not in its time. No test asserts a time.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

import postgres_kit  # noqa: E402 - behind the path to it
from audit_month_kit import Dial, begin_of, month, write  # noqa: E402 - behind the path to it
from console_kit import console  # noqa: E402 - behind the path to it

from guard.auditing import page  # noqa: E402 - behind the path to it
from guard.auditing.log import size  # noqa: E402 - behind the path to it
from guard.auditing.month import report  # noqa: E402 - behind the path to it
from guard.auditing.timeline import candidates, life  # noqa: E402 - behind the path to it
from guard.cli.audit_verify import stored_report  # noqa: E402 - behind the path to it
from guard.core.searching import Sought  # noqa: E402 - behind the path to it
from guard.stores import open_store, refiling  # noqa: E402 - behind the path to it
from guard.stores.log import FileLog  # noqa: E402 - behind the path to it
from guard.stores.migrations import migrate  # noqa: E402 - behind the path to it

MONTH = "2026-11"
PAGE = 200
DAY = 86400


def questions(log: Any) -> dict[str, Callable[[], object]]:
    """What is asked, by name."""
    begin = begin_of(MONTH)

    def ask(**fields: Any) -> Callable[[], object]:
        return lambda: log.search(Sought(limit=PAGE, **fields))

    tag = _tag(log)
    return {
        "newest": ask(),
        "person, common (principal)": ask(person="E10001"),
        "person, rare (principal)": ask(person="E10177"),
        "person (keyed hash)": ask(tags=(tag,)),
        "person (either)": ask(person="E10001", tags=(tag,)),
        "tool, common": ask(tool="weather"),
        "tool, rare": ask(tool="book_flight"),
        "tool that is not there": ask(tool="nothing"),
        "reason, common": ask(reason="invalid_arguments"),
        "reason, rare": ask(reason="policy_failed"),
        "conversation": ask(conversation="conv-000777"),
        "refused in a week": ask(verdict="refuse", since=begin + 10 * DAY, until=begin + 17 * DAY),
        "held for a tool": ask(verdict="hold", tool="refund"),
        "approved by": ask(actor="s.becker", state="approved"),
        "spoof": ask(spoof=True),
        "kind, rare": ask(kinds=("call.reconciled",)),
        "kind by its beginning": ask(kinds=("approval.*",)),
        "tenant, tool, person, a day": ask(
            tenant="globex", tool="weather", person="E10001", since=begin + DAY, until=begin + 2 * DAY
        ),
        "tool and reason of a person": ask(tool="weather", reason="not_grounded", principal="E10002"),
        "number of records": lambda: size(log),
        "life of a call": lambda: life(log, candidates(log, "conv-000777/1/0")[0]),
        "call id": lambda: candidates(log, "call_777_1"),
        "report of the month": lambda: page.whole(report(log, MONTH)),
    }


PAGES = (
    "/audit", "/audit?tool=weather", "/audit?tool=book_flight", "/audit?tool=nothing", "/audit?refused=1", "/audit?held=1", "/audit?spoof=1",
    "/audit?shadow=1", "/audit?reason=policy_failed", "/audit?reason=invalid_arguments", "/audit?person=E10001", "/audit?person=E10177",
    "/audit?approved_by=s.becker", "/audit?kind=approval.*", "/audit?conversation=conv-000777", "/audit?since=2026-11-20&until=2026-11-21",
    "/audit?person=E10002&tool=weather&reason=not_grounded", f"/audit/report?month={MONTH}", f"/audit/report/file?month={MONTH}",
    "/audit/report?month=2026-09",
)  # fmt: skip
"""Besides: the second page of all records, one of the first records, and the life of a call."""
_ROWLESS = re.compile(r"(call|approval) \S+ is not among the (calls|approvals) of the store|so are \d+ more rows\Z")


def _tag(log: Any) -> str:
    import json

    (one,) = log.search(Sought(kinds=("call.decided",), principal="E10005", limit=1))
    return str(next(iter(json.loads(one.body)["args"]["hmac"].values())))


def asked(log: Any, times: int) -> None:
    """Ask everything and print what it took."""
    print(f"{size(log):,} records\n{'question':32} {'median ms':>10} {'worst ms':>10} {'found':>8}")
    for name, question in questions(log).items():
        took = []
        for _ in range(times):
            start = time.perf_counter()
            found = question()
            took.append((time.perf_counter() - start) * 1000)
        number = len(found) if isinstance(found, tuple) else ""
        print(f"{name:32} {statistics.median(took):10.1f} {max(took):10.1f} {number:>8}", flush=True)


def unfiled(path: Path, number: int) -> None:
    """Take out what is filed about the newest records."""
    with closing(sqlite3.connect(path)) as connection:
        ((last,),) = connection.execute("SELECT MAX(seq) FROM audit").fetchall()
        for table in ("filed", "tags"):
            connection.execute(f"DELETE FROM {table} WHERE seq > ?", (last - number,))  # noqa: S608 - our own names
        connection.commit()
    print(f"\n{number:,} records are not filed", flush=True)


def pages(path: Path, times: int) -> None:
    """What the console's pages over the log take, GET by GET."""
    with tempfile.TemporaryDirectory() as folder, console(Path(folder), store=f"sqlite:///{path}") as running:
        running.clock.now = begin_of(MONTH) + 29 * DAY
        auditor = running.browser("r.admin", scope="admin", tenant="acme")
        first = auditor.open("/audit").source
        behind = unescape(re.findall(r'href="(/audit\?[^"]*behind[^"]*)"', first)[0])
        (call, *_) = re.findall(r'href="(/audit/[^"?]+/\d+/\d+)"', first)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in auditor.cookies.items())}
        print(f"\n{'page':60} {'median ms':>10} {'worst ms':>10} {'CPU ms':>8} {'KB':>6}")
        for address in (*PAGES, "/audit/5000", behind, call):
            took, used = [], []
            for _ in range(times):
                start, worked = time.perf_counter(), time.process_time()
                answer = running.client.get(address, headers=headers)
                took.append((time.perf_counter() - start) * 1000)
                used.append((time.process_time() - worked) * 1000)
            assert answer.status_code == 200, (address, answer.status_code)
            size = len(answer.content) / 1000
            print(
                f"{address:60} {statistics.median(took):10.1f} {max(took):10.1f} {statistics.median(used):8.1f} {size:6.0f}",
                flush=True,
            )


def verified(path: Path) -> None:
    """What verifying every record takes: chain, hashes, and what is filed about each."""
    with closing(open_store(f"sqlite:///{path}")) as store:
        start, worked = time.perf_counter(), time.process_time()
        report = stored_report(store, [], None)
        took, used = time.perf_counter() - start, time.process_time() - worked
    number, others = report.records, [one for one in report.problems if not _ROWLESS.search(one.what)]
    print(
        f"\nverify: {number:,} records in {took:.1f} s, {used:.1f} s of CPU: {number / used:,.0f} records a second of CPU; "
        f"rows that the log was made without are missing: {len(report.problems) - len(others)} lines; other problems: {len(others)}"
    )
    for one in others[:10]:
        print(f"  {one}")


def build(url: str, records: int) -> None:
    """Fill a store."""
    clock, start = Dial(0.0), time.perf_counter()
    with closing(open_store(url, clock=clock)) as store:
        events = itertools.islice(month(MONTH, conversations=records // 8 + 10), records)
        number = write(store, events, clock, page=2000)
    took = time.perf_counter() - start
    print(f"built {number:,} records in {took:.0f} s: {took / number * 1e6:.0f} us a record, making it up included", flush=True)


def filing_cost(records: int) -> None:
    """CPU of filing records, one run, in portions of both sizes."""
    took: dict[int, list[float]] = {refiling.PORTION: [], refiling.WHOLE: []}
    with tempfile.TemporaryDirectory(dir=os.environ.get("GUARD_BENCH_SCRATCH")) as folder:
        path = Path(folder) / "guard.db"
        build(f"sqlite:///{path}", records)
        for _ in range(3):
            for size, each in took.items():
                each.append(_filed(path, size))
    for size, each in took.items():
        print(f"filing, {size} records a transaction: {statistics.median(each) * 1e6 / records:.1f} us of CPU a record")


def _filed(path: Path, size: int) -> float:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM filed")
        connection.execute("DELETE FROM tags")
        start, left = time.process_time(), 1
        while left:
            connection.execute("BEGIN IMMEDIATE")
            left = refiling.portion(connection, size)
            connection.execute("COMMIT")
        return time.process_time() - start


@contextmanager
def a_log(arguments: argparse.Namespace) -> Iterator[tuple[Any, Path | None]]:
    """The log to ask, built where it is not there, and the file that it is in."""
    if arguments.postgres:
        with postgres_kit.database() as url:
            migrate(url)
            build(url, arguments.records)
            postgres_kit.run(url, "ANALYZE")
            with closing(open_store(url)) as store:
                store.catch_up()
                yield store, None
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("GUARD_BENCH_SCRATCH")) as folder:
        path = Path(arguments.keep) if arguments.keep else Path(folder) / "guard.db"
        if not path.exists():
            build(f"sqlite:///{path}", arguments.records)
        print(f"{path.stat().st_size / 1e6:,.0f} MB")
        with closing(FileLog(path)) as log:
            yield log, path


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--keep", metavar="FILE")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--unfiled", type=int, default=0, metavar="N")
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--filing", type=int, default=60_000, metavar="N", help="records of the measure of filing; 0: none")
    arguments = parser.parse_args()
    with a_log(arguments) as (log, path):
        asked(log, arguments.times)
        log.close()
        if path is None:
            return
        if arguments.unfiled:
            unfiled(path, arguments.unfiled)
            with closing(FileLog(path)) as again:
                asked(again, arguments.times)
            with closing(open_store(f"sqlite:///{path}")) as store:
                store.catch_up()
        if arguments.pages:
            pages(path, arguments.times)
            verified(path)
    if arguments.filing and not arguments.postgres:
        filing_cost(arguments.filing)


if __name__ == "__main__":
    main()
