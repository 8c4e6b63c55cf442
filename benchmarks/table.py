#!/usr/bin/env python3
"""Tables of the rows of benchmarks/run: table.py [--phase near|far] RESULTS.csv...

Rows are compared only within one phase, near or far: where the two cores sit decides what shared
memory costs, and hosts move virtual cores about. What counts as near differs from machine to
machine, so it is taken from the core-to-core latencies found beside all rows: where these fall into
two groups, the gap between them parts near from far; where they are one group, all rows are near.
"""

import argparse
import dataclasses
import math
import statistics
import sys


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    ranks: int
    bytes: int
    median: float  # microseconds, as the next four
    p10: float
    p90: float
    p99: float
    mean: float
    calls: int
    before: float  # nanoseconds from core to core
    after: float
    right: bool


def parse_row(line):
    """A Row, or None for what some library has logged between the rows."""
    fields = line.strip().split(",")
    if len(fields) != 12 or fields[11] not in ("ok", "wrong"):
        return None
    try:
        return Row(fields[0], int(fields[1]), int(fields[2]), *map(float, fields[3:8]),
                   int(fields[8]), float(fields[9]), float(fields[10]), fields[11] == "ok")
    except ValueError:
        return None


def threshold(rows):
    """The latency (ns) that parts near from far, or None where there is one phase.

    Splits the logarithms where the variance within both parts is least. Two phases are two cache
    domains: their typical latencies lie a factor of two and more apart, and each has whole rows.
    """
    logs = sorted(math.log(ns) for row in rows for ns in (row.before, row.after) if ns > 0)
    best, split = math.inf, None
    for cut in range(1, len(logs)):
        low, high = logs[:cut], logs[cut:]
        within = statistics.pvariance(low) * len(low) + statistics.pvariance(high) * len(high)
        if within < best:
            best, split = within, cut
    if split is None:
        return None
    low, high = logs[:split], logs[split:]
    if statistics.median(high) - statistics.median(low) < math.log(2):
        return None
    limit = math.exp((low[-1] + high[0]) / 2)
    # A phase lasts; a probe that another program has disturbed stands alone.
    few = max(2, len(rows) // 20)
    if any(sum(phase_of(row, limit) == phase for row in rows) < few for phase in ("near", "far")):
        return None
    return limit


def phase_of(row, limit):
    """near, far, or mixed where the cores were moved while the row was measured."""
    if limit is None or max(row.before, row.after) < limit:
        return "near"
    return "far" if min(row.before, row.after) >= limit else "mixed"


def size_text(count):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:g} {unit}"
    return f"{count} B"


def time_text(us):
    for unit, factor in (("us", 1), ("ms", 1e3), ("s", 1e6)):
        if us < 999.5 * factor or unit == "s":
            return f"{us / factor:.3g} {unit}"


@dataclasses.dataclass
class Cell:
    """The rows of one contender, size and number of ranks."""

    median: float
    p99: float
    mean: float

    def text(self, best):
        text = time_text(self.median)
        if self.mean > 1.5 * self.median:
            text += f" (mean {time_text(self.mean)})"  # bursts that a median hides
        return f"**{text}**" if best else text


def cell(rows):
    return Cell(*(statistics.median(getattr(row, field) for row in rows)
                  for field in ("median", "p99", "mean")))


def one_table(rows, phase, ranks):
    mine = [row for row in rows if row.ranks == ranks]
    names = [name for name in dict.fromkeys(row.name for row in mine) if name != "bound"]
    names.sort(key=lambda name: name != "fireflyer")
    lines = [f"### {ranks} ranks, {phase}\n",
             "| bytes | " + " | ".join(names) + " | best peer / fireflyer | bound | fireflyer / bound |",
             "|---" * (len(names) + 4) + "|"]
    for count in sorted({row.bytes for row in mine}):
        cells = {name: cell(found) for name in ["bound", *names]
                 if (found := [r for r in mine if r.name == name and r.bytes == count])}
        times = {name: c.median for name, c in cells.items() if name != "bound"}
        if not times:
            continue
        best = min(times, key=times.get)
        words = [cells[name].text(name == best) if name in cells else "-" for name in names]
        ours, rest = times.get("fireflyer"), [t for n, t in times.items() if n != "fireflyer"]
        bound = cells.get("bound")
        words.append(f"{min(rest) / ours:.2f}" if ours and rest else "-")
        words.append(time_text(bound.median) if bound else "-")
        words.append(f"{ours / bound.median:.1f}" if ours and bound else "-")
        lines.append(f"| {size_text(count)} | " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def render(rows, only=None):
    limit = threshold(rows)
    probes = sorted(ns for row in rows for ns in (row.before, row.after) if ns > 0)
    text = []
    if probes:
        text.append(f"Core to core: {probes[0]:.0f} to {probes[-1]:.0f} ns, median "
                    f"{statistics.median(probes):.0f}; " +
                    ("one phase.\n" if limit is None else f"near is below {limit:.0f} ns.\n"))
    right = [row for row in rows if row.right]
    for phase in ("near", "far"):
        chosen = [row for row in right if phase_of(row, limit) == phase]
        if only in (None, phase):
            text += [one_table(chosen, phase, ranks) for ranks in sorted({r.ranks for r in chosen})]
    mixed = sum(phase_of(row, limit) == "mixed" for row in right)
    if mixed:
        text.append(f"{mixed} rows left out: the cores were moved while they were measured.\n")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--phase", choices=("near", "far"))
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    rows = []
    for path in options.files:
        with open(path) as file:
            rows += [row for line in file if (row := parse_row(line))]
    if not rows:
        sys.exit("no rows in " + ", ".join(options.files))
    print(render(rows, options.phase))


if __name__ == "__main__":
    main()
