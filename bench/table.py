"""Columns of text, and the statistics that fill them."""
import math
import statistics

WIDTH = 100


def rows(header, lines, first=12):
    """A table: the first column to the left, the others to the right, wide enough for all."""
    cells = [header, *lines]
    widths = [max(len(str(row[i])) for row in cells if i < len(row)) for i in range(len(header))]
    widths[0] = max(widths[0], first)
    text = []
    for row in cells:
        text.append("  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                              for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    return text


def wrapped(label, words):
    """`label     word, word, …` over as many lines as it needs. Words are kept whole."""
    lines, line = [], f"{label:<10}"
    for i, word in enumerate(words):
        word += "," if i + 1 < len(words) else ""
        if len(line) + len(word) > WIDTH:
            lines.append(line.rstrip())
            line = " " * 10
        line += word + " "
    return lines + [line.rstrip()]


def pair(values, digits=2):
    """minimum/median"""
    if not values:
        return "-"
    return f"{min(values):.{digits}f}/{statistics.median(values):.{digits}f}"


def median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else None


def share(value):
    """A share below one, as `1/7.9`."""
    if value is None:
        return "-"
    return f"1/{1 / value:.1f}" if 0 < value <= 1 else f"{value:.2f}"


def times(value):
    return "-" if value is None else f"{value:.2f}x"


def count(value):
    """1234567 as 1.23 M"""
    if value is None:
        return "-"
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f}"


def megabytes(value):
    return "-" if value is None else f"{value / 1e6:.1f}"
