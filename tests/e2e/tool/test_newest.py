"""What a command takes when less is said: a moment behind a recording, the newest recording here, all of
a run."""
import json
import os
import re
import subprocess
import urllib.request

import pytest

from made_recording import Made
from servers import serve  # noqa: F401

DAY = 86_400 * 10**9


def made(folder, name, blocks, day=1, number=1, parent=0, program="toyd"):
    """A recording that began on that day; number: its id, parent: that of who started it."""
    place = folder / f".{name}"
    place.mkdir()
    recording = Made(place, ["main", "grow"], program=program, id=bytes([number]) * 16,
                     parent_id=bytes([parent]) * 16, realtime=1_700_000_000 * 10**9 + day * DAY)
    for _ in range(blocks):
        recording.allocate(["main", "grow"], 100)
    return recording.write().rename(folder / name)


# --- a moment ---

def test_a_moment_behind_a_recording(tool, tmp_path):
    path = made(tmp_path, "r.mallow", 10)
    for words in (["report"], ["report", "--json"], ["report", "--tree"], ["export", "--to", "collapsed"],
                  ["check", "--max-leaked", "400"], ["check", "--max-leaked", "300"]):
        behind = tool(*words, f"{path}@40%", check=False)
        option = tool(*words, "--at", "40%", path, check=False)
        former = tool(*words, "--alive-at", "40%", path, check=False)
        assert behind.stdout == option.stdout == former.stdout != tool(*words, path, check=False).stdout
        assert (behind.returncode, behind.stderr) == (option.returncode, option.stderr)
    # A file that is called so is meant.
    named = made(tmp_path, "r.mallow@40%", 3)
    assert json.loads(tool("report", "--json", named).stdout)["calls"] == 3
    other = made(tmp_path, "s.mallow", 10)
    assert tool("report", f"{path}@peak", f"{other}@peak").stdout.count("what was live at peak") == 2


@pytest.mark.parametrize("words,message", [
    (["report", "{path}@peak", "{path}"], "one moment is wanted for all recordings: --at MOMENT"),
    (["report", "{path}@9x"], "'9x' behind the @ of '{path}@9x' is no moment"),
    (["export", "--to", "collapsed", "--at", "1s", "{path}@peak"], "@peak and --at exclude each other"),
    (["report", "--merge", "{path}@peak"], "--merge and --at exclude each other"),
    (["info", "{path}@peak"], "'{path}@peak': 'mallow info' is about whole recordings; "),
    (["finish", "{path}@peak"], "'mallow finish' is about whole recordings"),
    (["trace", "dump", "{path}@peak"], "'mallow trace dump' is about whole recordings"),
    (["top", "{path}@peak"], "'mallow top' is about whole recordings"),
])
def test_no_moment(words, message, tool, tmp_path):
    path = made(tmp_path, "r.mallow", 2)
    run = tool(*[word.format(path=path) for word in words], check=False)
    assert run.returncode == 2 and message.format(path=path) in run.stderr


def test_serve_shows_a_moment(mallow, tmp_path):
    path = made(tmp_path, "r.mallow", 2)
    with subprocess.Popen([mallow, "serve", "-p", "0", f"{path}@50%"], stdout=subprocess.PIPE, text=True) as run:
        address, place = run.stdout.readline().removeprefix("listening on ").strip().split("/#")
        assert place == "/overview?alive_at=50%25"
        with urllib.request.urlopen(f"{address}/data/last/summary?alive_at=50%25") as answer:
            assert json.load(answer)["matched"]["calls"] == 1
        run.terminate()


# --- the newest ---

def test_the_newest_here(tool, tmp_path):
    made(tmp_path, "old.mallow", 30, day=1, number=1)
    made(tmp_path, "new.mallow", 2, day=2, number=2)
    for words in (["report"], ["info"], ["export", "--to", "collapsed"], ["report", "--json"]):
        run = tool(*words, cwd=tmp_path)
        assert run.stderr == "mallow: new.mallow, the newest recording here\n"
        assert run.stdout == tool(*words, "new.mallow", cwd=tmp_path).stdout
    # What it started is newer, and smaller.
    made(tmp_path, "child.mallow", 1, day=3, number=3, parent=2)
    run = tool("report", "--json", cwd=tmp_path)
    assert run.stderr == "mallow: new.mallow, the largest of the 2 recordings of the newest run here\n"
    assert json.loads(run.stdout)["calls"] == 2


def test_no_one_elses(tool, tmp_path):
    if os.geteuid():
        pytest.skip("only root can give a file away")
    made(tmp_path, "mine.mallow", 2, day=1)
    theirs = made(tmp_path, "theirs.mallow", 3, day=2, number=2)
    os.chown(theirs, 65534, 65534)
    os.symlink("mine.mallow", tmp_path / "z.mallow")
    assert tool("report", cwd=tmp_path).stderr == "mallow: mine.mallow, the newest recording here\n"
    (tmp_path / "mine.mallow").unlink()
    run = tool("report", cwd=tmp_path, check=False)
    assert run.returncode == 2 and "needs a recording, and none of yours is here" in run.stderr


def test_serve_has_what_is_here(serve, tmp_path, monkeypatch):  # noqa: F811
    made(tmp_path, "old.mallow", 3, day=1)
    made(tmp_path, "new.mallow", 2, day=2, number=2)
    if not os.geteuid():
        os.chown(made(tmp_path, "theirs.mallow", 9, day=3, number=3), 65534, 65534)
    monkeypatch.chdir(tmp_path)
    server = serve()
    assert len(server.json("/list")) == 2
    assert server.json("/data/last/summary")["all"]["calls"] == 2
    made(tmp_path, "later.mallow", 1, day=4, number=4)
    assert len(server.json("/list")) == 3


def test_diff_of_the_newest(tool, tmp_path):
    run = tool("diff", cwd=tmp_path, check=False)
    assert run.returncode == 2 and "none of yours is here" in run.stderr
    made(tmp_path, "1.mallow", 10, day=1)
    run = tool("diff", cwd=tmp_path, check=False)
    assert run.returncode == 2 and "mallow diff 1.mallow compares its middle and its end" in run.stderr
    made(tmp_path, "2.mallow", 4, day=2, number=2, program="other")
    made(tmp_path, "3.mallow", 15, day=3, number=3)
    made(tmp_path, "child.mallow", 2, day=4, number=4, parent=3)  # of the same run: not compared
    run = tool("diff", "--json", cwd=tmp_path)
    assert run.stderr == ("mallow: 1.mallow and 3.mallow, the newest recording here and the one before of "
                          "its program\n")
    assert json.loads(run.stdout)["change"] == 500
    run = tool("diff", "--json", "1.mallow", cwd=tmp_path)
    assert run.stderr == "mallow: 1.mallow: what was live in the middle of it, and at its end\n"
    said = json.loads(run.stdout)
    assert said["change"] == json.loads(tool("diff", "--json", "1.mallow@50%", "1.mallow@end",
                                             cwd=tmp_path).stdout)["change"] == 500


# --- all of a run ---

def test_merge_takes_the_run_of_one(tool, tmp_path):
    one = made(tmp_path, "1.mallow", 1, day=1, number=1)
    child = made(tmp_path, "2.mallow", 2, day=2, number=2, parent=1)
    grandchild = made(tmp_path, "3.mallow", 4, day=3, number=3, parent=2)
    made(tmp_path, "4.mallow", 8, day=4, number=4, parent=9)  # of another run
    for path in (one, child, grandchild):
        assert json.loads(tool("report", "--merge", "--json", path).stdout)["calls"] == 7
    assert json.loads(tool("report", "--merge", "--json", one, child).stdout)["calls"] == 3
    lines = tool("export", "--merge", "--to", "collapsed", "--metric", "calls", child).stdout.splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 7
    assert tool("check", "--merge", "--max-leaked", "699", child, check=False).returncode == 1


def test_next_names_the_run(tool, compile_sample, tmp_path):
    run = tool("run", "--", "sh", "-c", f"{compile_sample('totals')}; true", cwd=tmp_path)
    merge = re.search(r"^ +\S+ report --merge (\S+)$", run.stderr, re.M)
    assert json.loads(tool("report", "--json", "--merge", merge[1], cwd=tmp_path).stdout)["processes"]
    alone = tool("run", "-o", "r.mallow", "--", compile_sample("totals"), cwd=tmp_path)
    assert "--merge" not in alone.stderr
