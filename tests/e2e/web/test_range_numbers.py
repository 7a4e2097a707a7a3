"""Under every meaning of a range and every metric the page's numbers are those of the server: the headline, the chip,
the graph's root, the table's sum and the boxes below the graph."""
import re

import pytest

NBSP = "\u00a0"
# A metric: the column of /sums and the metric of /flame; then those of what was allocated or freed in a range.
METRICS = {"bytes": ("bytes", "peak", "total", "total"), "blocks": ("blocks", "blocks", "calls", "calls"),
           **{name: (name,) * 4 for name in ("calls", "temporary", "slack", "leaked")}}
MODES = ("moment", "kept", "allocated", "freed", "grew", "peak")
FEW = [("allocated", "bytes"), ("freed", "bytes")]
ALL = [(mode, metric) for mode in (None, *MODES) for metric in METRICS if (mode, metric) not in FEW]


def exact(text):
    return int(re.sub(r"[^\d-]", "", text))


def told(text):
    """The first amount of a text as (least, most): it is rounded to what is shown."""
    found = re.search(r"([+−-]?)([\d.,]+)(?:\s(B|KB|MB|GB)\b)?", text.replace(NBSP, " "))
    assert found, text
    number = found[2].strip(".,").replace(",", "")
    unit = 1000 ** ["B", "KB", "MB", "GB"].index(found[3] or "B")
    half = 0.5 * 10 ** -len(number.partition(".")[2]) * unit if unit > 1 else 0
    return float(number) * unit - half, float(number) * unit + half


def says(text, amount):
    least, most = told(text)
    return least <= abs(amount) <= most


class Chosen:
    """A meaning of the middle of the run: how the address has it, and the conditions that it stands for."""

    def __init__(self, server, mode):
        series = server.json("/data/last/series")
        begin, end = series["at_ns"][len(series["at_ns"]) // 5], series["at_ns"][len(series["at_ns"]) * 3 // 5]
        self.mode, self.whole = mode, {"from": f"{begin}ns", "to": f"{end}ns"}
        self.range = f"{mode}:{end}ns" if mode == "moment" else f"{mode}:{begin}ns..{end}ns" if mode else ""
        most = server.json("/data/last/series", start=f"{begin}ns", end=f"{end}ns")["peak"]["at_ns"]
        self.conditions = {
            None: {}, "moment": {"alive_at": f"{end}ns"}, "allocated": self.whole,
            "kept": {**self.whole, "lifetime": "only_not_deallocated_in_current_range"},
            "freed": {"freed_from": f"{begin}ns", "freed_to": f"{end}ns"},
            "grew": {"alive_at": f"{end}ns", "b.alive_at": f"{begin}ns"}, "peak": {"alive_at": f"{most}ns"}}[mode]
        self.after = {name: value for name, value in self.conditions.items() if not name.startswith("b.")}

    def address(self, name, metric, **view):
        asked = {"range": self.range, "metric": metric, **view}
        return f"#/{name}?" + "&".join(f"{key}={value}" for key, value in asked.items() if value)


def show(page, address):
    page.run("location.hash = arguments[0]", address)
    page.settle()


def check_sentences(page, chosen, metric, whole, matched):
    """Of the pages that show the range's later side alone."""
    def heading(name):
        show(page, chosen.address(name, metric))
        return page.text("h1").replace(NBSP, " ")

    where = chosen.mode, metric
    column = METRICS[metric][2 if chosen.mode in ("allocated", "freed") else 0]
    text = heading("source")
    assert whole[column] == 0 or says(text.partition(" of ")[2], whole[column]), (where, text)
    text = heading("allocations")
    assert says(text.partition(", ")[2], matched["total_bytes"]), (where, text)
    assert says(text.partition("; ")[2], matched["leaked_bytes"]), (where, text)
    text = heading("leaks")
    if matched["leaked_bytes"]:
        assert says(text, matched["leaked_bytes"]) and says(text.partition(" in ")[2], matched["leaked_blocks"]), (where, text)
    else:
        assert "freed" in text, (where, text)
    text = heading("churn")
    if matched["temporary"]:
        assert says(text, matched["temporary"]) and says(text.partition(" of ")[2], matched["calls"]), (where, text)
    else:
        assert "No call" in text or "Nothing" in text, (where, text)


def check(page, server, mode, metric):
    chosen = Chosen(server, mode)
    column, flame_metric = METRICS[metric][2:] if mode in ("allocated", "freed") else METRICS[metric][:2]
    where = mode, metric
    sums = server.json("/data/last/sums", **chosen.conditions, sort_by=column)
    flame = server.json("/data/last/flame", **chosen.conditions, metric=flame_metric, cut=0, fold="none")
    after = sums["after"] if mode == "grew" else sums
    root = [flame["before"][0], flame["after"][0]] if mode == "grew" else [flame["bytes"][0]]
    whole = [sums[side]["all"][column] for side in ("before", "after")] if mode == "grew" else [sums["all"][column]]
    assert root == whole, where
    amount = whole[1] - whole[0] if mode == "grew" else whole[0]
    assert sum(after[column]) - (sum(sums["before"][column]) if mode == "grew" else 0) == amount, where
    show(page, chosen.address("flame", metric))
    # The chip, which has bytes whatever the metric is.
    summary = server.json("/data/last/summary", **chosen.conditions)
    matched = summary["change"]["peak_bytes"] if mode == "grew" else \
        summary["matched"]["total_bytes" if mode in ("allocated", "freed") else "peak_bytes"]
    assert exact(page.run("return document.querySelector('.sum').title")) == matched, where
    if metric == "bytes":
        assert matched == amount, where
    # The graph's sentence, and the boxes below it.
    heading = page.text("h1")
    if amount:
        assert says(heading, amount), (where, heading, amount)
    if metric in ("bytes", "blocks") and amount:
        word = {"allocated": "allocated", "freed": "freed", "grew": "before"}.get(mode, "live")
        assert re.search(rf"\b{word}\b", heading), (where, heading)
        assert mode != "freed" or "allocated" not in heading, heading
    box = "return [...document.querySelectorAll('.flame-pane [aria-label=sites] [title]')].map((one) => one.title)"
    titles = [exact(text) for text in page.run(box) if re.fullmatch(r"[\d,]+", text)]
    alone = after if mode != "grew" else server.json("/data/last/sums", **chosen.after, sort_by=column)
    assert titles == [alone["all"][column], *alone[column][:5]], where
    # A branch: its box has the number of its frame.
    names = [] if mode == "grew" else [flame["names"][name] for name in flame["name"]]
    once = [node for node in range(1, len(names)) if names.count(names[node]) == 1 and names[node].endswith("()")]
    if once and amount and mode != "peak":  # until the page knows that moment it asks for another, without that frame
        node = max(once, key=lambda one: (flame["bytes"][one] < amount, flame["bytes"][one]))
        show(page, chosen.address("flame", metric, unfold="all", root=flame["id"][node]))
        # Of the whole run it is what lives at the peak's nanosecond: other events may share that.
        assert abs(exact(page.run(box)[0]) - flame["bytes"][node]) <= (0 if mode else amount // 1000), (where, names[node])
    # Tables: their sentence has the same number, and the first row is the largest one's.
    for name in ("sites", "tree", "distributions"):
        show(page, chosen.address(name, metric))
        heading = page.text("h1")
        number = heading.partition("·")[2] if name == "sites" and mode != "grew" else heading
        if name == "sites" and mode == "grew":
            number = heading.partition(":")[2]
        shown = alone["all"][column] if name == "distributions" else amount
        if shown:
            assert says(number, shown), (where, name, heading, shown)
    check_sentences(page, chosen, metric, alone["all"], server.json("/data/last/summary", **chosen.after)["matched"])
    show(page, chosen.address("threads", metric))
    if mode == "freed":
        assert "freed here" in page.text("h1"), where
    show(page, chosen.address("overview", metric))
    if mode not in (None, "grew") and metric == "bytes":
        assert says(page.text(".top-sites h2 .muted"), amount), (where, page.text(".top-sites h2"))


def test_numbers_agree_under_a_range(page, server):
    page.open("#/sites")
    for mode, metric in FEW:
        check(page, server, mode, metric)


@pytest.mark.long
def test_numbers_agree_under_every_range(page, server):
    page.open("#/sites")
    for mode, metric in ALL:
        check(page, server, mode, metric)
