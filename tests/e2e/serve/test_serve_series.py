"""/series against series_reference.py on random recordings, both builds; bounds and errors of what it
takes."""
import json
import os
import random
import subprocess

import pytest

import curve_reader
import mallow_reader
import series_reference as reference
from conftest import clean_environment
from many_blocks import many  # noqa: F401
from symbols_reader import payload_of
from servers import Server, example, large, program, serve, served, without  # noqa: F401
from queries import SECOND, Recorded, random_moment

MEMORY = 0x8E

PARTS = ["live_last", "live_blocks", "allocated_bytes", "allocated_blocks", "freed_bytes",
         "freed_blocks"]


def random_question(made):
    """Parameters, and what they mean: start, end, points, by, top, late."""
    dice, run = made.dice, made.blocks.run
    asked = {"by": dice.choice(["fate", "function", "module", "thread", "site"]),
             "points": dice.choice([1, 2, 3, 7, 50]), "top": dice.choice([0, 1, 2, 3, 100])}
    late = run // 10
    if dice.random() < 0.5:
        late = dice.choice([0, 1, dice.randrange(60) * made.unit])
        asked["late"] = f"{late}ns"
    start, end = 0, run
    if dice.random() < 0.7:
        texts = random_moment(dice, made.unit), random_moment(dice, made.unit)
        start, end = (min(max(made.blocks.moment(text, last=last), 0), run)
                      for text, last in zip(texts, (False, True)))
        if start <= end:
            asked.update(start=texts[0], end=texts[1])
        else:
            start, end = 0, run
    return asked, start, end, late


def without_curves(answer):
    return without(answer, "curves", "peak", "memory")


def check_curves(made, got, wanted, top, bounds):
    """Curves of equal area may come in any order, and any of them may be among the others."""
    names = [curve["name"] for curve in got if curve["name"] is not None]
    assert len(names) == min(top, len(wanted))
    left = list(wanted)
    for curve in got[:len(names)]:
        numbers = {part: curve[part] for part in PARTS}
        place = next(i for i, (name, blocks) in enumerate(left) if name == curve["name"] and
                     reference.points(blocks, bounds) == numbers)
        assert curve["others"] == 0
        area = [sum(reference.area(b, bounds[0][0], bounds[-1][1]) for b in left[i][1])
                for i in (place, 0)]
        assert area[0] == area[1]
        del left[place]
    if len(got) > len(names):
        rest = reference.points([b for _, blocks in left for b in blocks], bounds)
        assert {part: got[-1][part] for part in PARTS} == rest
        assert got[-1]["others"] == len(left) > 0
    else:
        assert not left


def check(served, made, conditions):
    asked, start, end, late = random_question(made)
    blocks = made.matching(conditions)
    got = served.json(f"/data/{made.id}/series", **asked, **conditions)
    bounds = reference.steps(start, end, asked["points"])
    slack = [sum(b.event.usable - b.event.size for b in reference.live_at(blocks, moment))
             for _, moment in bounds]
    assert without_curves(got) == {
        "start_ns": start, "end_ns": end, "late_ns": late, "at_ns": [moment for _, moment in bounds],
        "live_slack": slack, "live_most": reference.most(blocks, bounds),
        **reference.points(blocks, bounds)}, asked
    inside = [b for b in blocks if b.time <= end and (b.freed is None or b.freed >= start)]
    wanted = reference.curves(made, inside, asked["by"], asked["top"], start, end, late)
    if asked["by"] == "fate":
        assert [without(curve, "others", "thread", "backtrace_id") for curve in got["curves"]] == [
            {"name": name, **reference.points(members, bounds)} for name, members in wanted]
    else:
        check_curves(made, got["curves"], wanted, asked["top"], bounds)
    found, live = reference.peak(made, blocks, start, end)
    assert without(got["peak"], "backtrace_id") == {
        "at_ns": found.time if found else start, "bytes": reference.size(live), "blocks": len(live),
        "thread": found.tid if found else None}
    return got


def test_series(served):
    for made in served.made:
        for conditions in [{}, *made.filters(9)]:
            check(served, made, conditions)


def test_the_same_number_everywhere(served):
    """The whole run's peak is the report's; a curve at T is what alive_at=T finds."""
    for made in served.made:
        path = f"/data/{made.id}"
        got = served.json(f"{path}/series", points=5)
        sums = made.blocks.sums(made.blocks.blocks)
        assert (got["peak"]["at_ns"], got["peak"]["bytes"], got["peak"]["blocks"]) == (
            sums["peak_time"], sums["peak_bytes"], sums["peak_blocks"])
        assert max(got["live_most"]) == sums["peak_bytes"]
        for moment, live in zip(got["at_ns"], got["live_last"]):
            rows = served.json(f"{path}/allocations", alive_at=f"{moment}ns")["allocations"]
            assert sum(row["size"] for row in rows) == live
        for curve in served.json(f"{path}/series", by="site", points=3)["curves"]:
            rows = served.json(f"{path}/allocations", backtraces=curve["backtrace_id"])
            assert sum(curve["allocated_blocks"]) == rows["total_count"]


def test_the_memory_of_the_process(program, tmp_path, serve):
    """The sample with most resident of each step, or none."""
    made = Recorded(program)
    resident = {1: 50, 2: 70, 3: 60, 6: 10, 9: 40}
    for at, pages in resident.items():
        made.other(at * SECOND, MEMORY, 900, pages, 5, 4, 3, 2)
    path = made.write(tmp_path / "memory.mallow", 10 * SECOND)
    server = serve(path)

    def samples(**asked):
        memory = server.json("/data/last/series", **asked)["memory"]
        assert memory.pop("usual_ns") == 3 * SECOND  # 1, 1, 3 and 3 s apart: most of the time in gaps of 3 s
        assert len(set(map(len, memory.values()))) == 1
        assert set(memory["virtual_size"]) <= {900} and set(memory["swap"]) <= {2}
        return list(zip((at // SECOND for at in memory["at_ns"]), memory["resident"]))

    assert samples() == list(resident.items())
    assert samples(points=2) == [(2, 70), (9, 40)]
    assert samples(points=1, start="3s", end="6s") == [(3, 60)]
    assert samples(start="7s", end="8s") == []


@pytest.mark.parametrize("query, message", [
    ("points=0", "invalid 'points': it may be 1 to 2000"),
    ("points=2001", "invalid 'points': it may be 1 to 2000"),
    ("points=-1", "invalid 'points': '-1' is not a whole number"),
    ("top=101", "invalid 'top': it may be 0 to 100"),
    ("start=6s&end=5s", "invalid 'end': it is before 'start'"),
    ("start=50%25%25", "invalid 'start': '50%%' is not UNIX seconds, a time since the start such as"),
    ("late=soon", "invalid 'late': 'soon' is not a time such as 500ms, 2s or 1h2m3s"),
    ("by=colour", "invalid 'by': 'colour' is none of fate function module thread site"),
    ("end=nowhere", "end: 'nowhere': the recording has no marks"),
])
def test_mistakes_are_named(example, serve, query, message):
    assert serve(example).refused(f"/data/last/series?{query}").startswith(message)


def test_nothing_to_draw(program, tmp_path, serve):
    """No time, no blocks: one step of zeros."""
    server = serve(Recorded(program).write(tmp_path / "empty.mallow", 0))
    for by in ("fate", "function", "module", "thread", "site"):
        got = server.json("/data/last/series", by=by)
        assert got["at_ns"] == [0] and got["live_most"] == [0] and got["memory"]["at_ns"] == []
        assert got["peak"] == {"at_ns": 0, "bytes": 0, "blocks": 0, "thread": None,
                               "backtrace_id": None}
        assert len(got["curves"]) == (3 if by == "fate" else 0)


def test_a_bomb_of_points(example, serve, asan_mallow):
    """The whole run in the most steps, from every end."""
    server = serve(example, path=asan_mallow)
    got = server.json("/data/last/series", points=2000, start="0%", end="100%", top=100)
    assert len(got["at_ns"]) == 2000 and got["at_ns"][-1] == 10 * SECOND
    assert got["live_last"][-1] == 232


def check_report(server, report):
    """The whole run's curve says what the report says."""
    got = server.json("/data/last/series")
    assert (got["peak"]["bytes"], got["peak"]["blocks"]) == (
        report["peak_bytes"], report["peak_blocks"])
    assert (got["live_last"][-1], got["live_blocks"][-1]) == (
        report["leaked_bytes"], report["leaked_blocks"])
    return got


def test_processors_make_no_difference(many, serve):
    """Of one thread and of several the answer is the same, and its peak is the report's."""
    path, report = many.record("many.mallow")
    both, one = serve(path), serve(path)
    for task in os.listdir(f"/proc/{one.run.pid}/task"):
        os.sched_setaffinity(int(task), {min(os.sched_getaffinity(0))})
    for query in ("", "?by=function", "?by=site&top=1", "?start=40%25&end=70%25", "?size_min=2000",
                  "?start=30%25&lifetime=only_temporary"):
        assert both.text(f"/data/last/series{query}") == one.text(f"/data/last/series{query}")
        assert both.text(f"/data/last/space{query.partition('?start')[0]}") == \
            one.text(f"/data/last/space{query.partition('?start')[0]}")
    got = check_report(both, report)
    assert sum(got["allocated_blocks"]) == report["calls"] > 2 << 18


@pytest.mark.parametrize("options", [["--sample", "64K"], ["--cull", "1ms"]])
def test_samples_and_culled_blocks(many, serve, options):
    """A sampled block stands for many; what was only counted was never live."""
    path, report = many.record(f"{options[0]}.mallow", *options)
    got = check_report(serve(path), report)
    assert sum(got["allocated_bytes"]) == sum(
        sum(curve["allocated_bytes"]) for curve in got["curves"])
    if options[0] == "--sample":
        assert (sum(got["allocated_blocks"]), sum(got["allocated_bytes"])) == (
            report["calls"], report["total_bytes"])


@pytest.fixture(scope="module")
def finished(large, mallow):
    """(path of a recording with a curve, the answer by it, the answer without it)"""
    path = large.with_name("finished.mallow")
    path.write_bytes(large.read_bytes())
    subprocess.run([mallow, "finish", path], check=True, capture_output=True)
    answers = []
    for one in (path, large):
        server = Server(mallow, one)
        answers.append(server.text("/data/last/series"))
        server.end()
    return path, *answers


def check_step(server, curve, step):
    """A step of the curve in a file is what the engine makes of the blocks in it. Which were freed late is known to
    within a step. Some events in the nanosecond of an end may be the next step's: then nothing is compared."""
    start, end = curve["at_ns"][step - 1] + 1 if step else 0, curve["at_ns"][step]
    for moment in (start - 1, end) if step else (end,):
        at = server.json("/data/last/series", start=f"{moment}ns", end=f"{moment}ns", points=1)
        if at["allocated_blocks"] != [0] or at["freed_blocks"] != [0]:
            return False
    asked = {"start": f"{start}ns", "end": f"{end}ns", "points": 1}
    made = server.json("/data/last/series", **asked)
    assert all(curve[name][step] == made[name][0] for name in ("live_last", "live_most", "live_slack"))
    rows = {name: [column[step] for column in columns] for name, columns in curve["curves"]}
    all_parts = [sum(row[i] for row in rows.values()) for i in range(len(PARTS))]
    assert all_parts == [made[part][0] for part in PARTS]
    width = max(b - a for a, b in zip(curve["at_ns"], curve["at_ns"][1:]))
    fates = {late: {one["name"]: [one[part][0] for part in PARTS] for one in server.json(
        "/data/last/series", late=f"{made['late_ns'] + late * width}ns", **asked)["curves"]} for late in (-2, 2)}
    assert rows["never_freed"] == fates[2]["never_freed"]
    assert all(least <= late <= most for least, late, most in zip(
        fates[2]["freed_late"], rows["freed_late"], fates[-2]["freed_late"]))
    return True


def test_the_curve_in_the_file(many, serve):
    """Read by the description of the format, it is the whole run's; the server sends it as it is,
    before and after it has read the events."""
    path, report = many.record("finished.mallow")
    server = serve(path)
    made = server.text("/data/last/series")
    curve, wanted = curve_reader.curve_of(path), json.loads(made)
    assert 512 < len(wanted["at_ns"]) <= 1024 and curve["at_ns"] == wanted["at_ns"]
    assert curve["curves"] == [(one["name"], [tuple(one[part]) for part in PARTS])
                               for one in wanted["curves"]]
    assert all(curve[name] == wanted[name] for name in ("live_last", "live_most", "live_slack"))
    assert curve["peak"][:3] == [wanted["peak"][name] for name in ("at_ns", "bytes", "blocks")]
    check_report(server, report)
    asked = [server.text("/data/last/series?points=1024")]
    server.text("/data/last/allocations?count=1")
    asked += [server.text("/data/last/series"), server.text("/data/last/series?points=1024")]
    assert set(asked) == {made}
    last = len(curve["at_ns"]) - 1
    compared = [check_step(server, curve, step) for step in [0, 1, last - 1, *random.Random(5).sample(range(2, last), 12)]]
    assert sum(compared) > 8


def test_the_curve_is_taken_over(finished, tmp_path, mallow, serve):
    """When a recording is stored in another way."""
    path = tmp_path / "plain.mallow"
    path.write_bytes(finished[0].read_bytes())
    subprocess.run([mallow, "finish", "--compress", "never", path], check=True, capture_output=True)
    assert curve_reader.curve_of(path) == curve_reader.curve_of(finished[0])
    assert serve(path).text("/data/last/series") == finished[1]


def test_few_blocks_have_no_curve(mallow, tmp_path):
    (tmp_path / "few.c").write_text("#include <stdlib.h>\nint main(void) { return !malloc(1); }")
    subprocess.run(["gcc", "-o", "few", "few.c"], cwd=tmp_path, check=True)
    subprocess.run([mallow, "run", "-o", "few.mallow", "./few"], cwd=tmp_path, check=True,
                   capture_output=True, env=clean_environment())
    assert curve_reader.curve_of(tmp_path / "few.mallow") is None


def test_a_wrong_curve_is_not_used(finished, tmp_path, serve, asan_mallow):
    """Cut short, of other events, with what cannot be: then it is made of the events. Numbers that
    can be are believed."""
    path, made, without = finished
    payload = payload_of(path.read_bytes(), mallow_reader.CURVE)
    dice = random.Random(7)
    wrong = [b"", payload[:1], payload[:8], payload[:-1], payload + b"\0", b"\3" + payload[1:],
             payload[:1] + bytes(8) + payload[9:], payload[:9] + b"\xff" * 500,
             payload[:9] + b"\1" + payload[11:], payload[:dice.randrange(len(payload))]]
    for i, bad in enumerate(wrong):
        (tmp_path / f"{i}.mallow").write_bytes(curve_reader.with_payload(path, bad))
    for i in range(len(wrong)):
        server = serve(tmp_path / f"{i}.mallow", **({"path": asan_mallow} if i % 2 else {}))
        assert server.text("/data/last/series") == without, i
    for _ in range(12):
        noise = bytearray(payload)
        for _ in range(dice.randrange(1, 30)):
            noise[dice.randrange(9, len(noise))] = dice.randrange(256)
        (tmp_path / "noise.mallow").write_bytes(curve_reader.with_payload(path, bytes(noise)))
        server = serve(tmp_path / "noise.mallow", path=asan_mallow)
        server.json("/data/last/series")
        server.end()
