"""The pages that say how memory behaves and where it lies: their numbers, and where they lead."""
import json
import re
import subprocess

import pytest
from selenium.webdriver.common.keys import Keys

from browser import PATIENCE
from conftest import clean_environment
from in_rounds import rounds  # noqa: F401
from made_live import MadeLive
from servers import Server
from traced_process import Attach, Target, need_bpf

NBSP = "\u00a0"


def words(page, css="h1"):
    return page.text(css).replace(NBSP, " ")


def short(count):
    """A size as the page writes it."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 999.5 or unit == "GB":
            digits = 0 if unit == "B" else 2 if count < 9.995 else 1 if count < 99.95 else 0
            return f"{count:.{digits}f} {unit}"
        count /= 1000
    return None


def test_call_tree(page, server):
    """Its root is the sum; it opens by keys, and what is small is there with its sum."""
    page.open("#/tree")
    flame = server.json("/data/last/flame")
    assert short(flame["bytes"][0]) in words(page)
    first = page.texts(".grid-row:first-child > div")
    assert first[1].replace(NBSP, " ") == short(flame["bytes"][0])
    full = server.json("/data/last/flame", columns="all")
    assert [full["calls"][0], full["temporary"][0]] == [server.json("/data/last/sums")["all"][name] for name in ("calls", "temporary")]
    assert f"{full['calls'][0]:,}" in first and any(text.startswith(f"{full['temporary'][0]:,} ") for text in first)
    page.click("button", "close all")
    rows = len(page.texts(".grid-row"))
    page.click(".grid-row:first-child .tree-sign")  # closes all
    assert len(page.texts(".grid-row")) == 1 < rows
    page.run("document.querySelector('.grid').focus()")
    page.press("\ue014")  # right: down to the next fork
    assert len(page.texts(".grid-row")) > 1
    page.open("#/tree?direction=callers")
    assert "register_label" in words(page, ".grid")


PYTHON = """import decimal
class Cache:
    def fill(self):
        self.rows = [bytes(900) + bytes([i % 256]) for i in range(3000)]
cache = Cache()
cache.fill()
"""


def test_python(browse, serve, mallow, tool, tmp_path):
    """The reader's own functions, without the interpreter between them, in a file, too; links lead to them; their text is
    there."""
    (tmp_path / "app.py").write_text(PYTHON)
    subprocess.run([mallow, "run", "-o", tmp_path / "r.mallow", "/usr/bin/python3", tmp_path / "app.py"],
                   env=clean_environment(), capture_output=True, check=True, timeout=60)
    page = browse(serve("--sources", tmp_path / "r.mallow"))
    page.open("#/tree")
    assert page.text(".recording b") == "app.py"
    rows = [row.partition("\n")[0] for row in page.texts(".grid-row")]
    sentence = page.text("h1")
    at = next(i for i, row in enumerate(rows) if "<module> app.py" in row)
    assert any("Cache.fill app.py" in row for row in rows[at:at + 3]) and "import decimal app.py" in " ".join(rows)
    page.open("#/overview")
    page.click("main a", "Cache.fill")
    assert re.search(r"most: 2\.8\d MB", words(page, ".drawer"))
    page.open("#/flame")
    assert "below Cache.fill" in words(page)
    page.open("#/source")
    assert "self.rows = [bytes(900)" in page.text(".grid")
    page.check()
    tool("export", "--to", "html", "-o", tmp_path / "r.html", tmp_path / "r.mallow")
    file = browse(f"file://{tmp_path}")
    file.open("r.html#/tree")
    assert file.text("h1") == sentence
    file.check()


@pytest.mark.long
def test_source_lines(browse, serve, recording, compile_sample, server):
    """Each line's cost is that of /sums; without --sources there are costs without text."""
    page = browse(serve("--sources", recording))
    page.open("#/source")
    sums = server.json("/data/last/sums", by="line", sort_by="bytes")
    keys, row = sums["keys"][0], 0
    line = keys["line"][sums["key"][row]]
    assert f"most by line {line}" in words(page)
    shown = next(text for text in page.texts(".grid-row") if f"\n{line}\n" in text)
    assert short(sums["bytes"][row]) in shown.replace(NBSP, " ") and "malloc" in shown
    page.click(".grid-row .source-costs")
    assert "asked for by this line itself" in page.wait("return document.querySelector('.drawer')?.textContent")


@pytest.mark.long
def test_source_on_a_phone(browse, serve, recording, compile_sample):
    """The text is there without scrolling to the right."""
    page = browse(serve("--sources", recording))
    page.size(380, 820, touch=True)
    page.open("#/source")
    left, right = page.wait("const box = document.querySelector('.grid-row .source-costs')?.getBoundingClientRect();"
                            "return box && [box.left, box.right]")
    assert 0 < left < 190 and right > 250


@pytest.mark.long
def test_source_without_text(page, server):
    page.open("#/source")
    assert "--sources" in words(page, "main") and "most by line" in words(page)
    assert [text for text in page.texts(".grid-row") if "MB" in text]


@pytest.mark.long
def test_churn(page, server):
    page.open("#/churn")
    sums = server.json("/data/last/sums", by="function", sort_by="temporary", count=1)
    assert f"{sums['all']['temporary']:,} of {sums['all']['calls']:,} calls are temporary" in words(page)
    sums = server.json("/data/last/sums", by="function", position_in_chain_min=1, sort_by="calls", chains="true")
    steps, chains = sums["all"]["calls"], sums["chains"]
    assert f"{steps:,} are steps of realloc" in words(page) and sum(chains["steps"]) == steps > 0
    assert f"{short(chains['reserve'][0])} at once covers" in words(page, ".findings")
    row = words(page, "section[aria-label='Steps of realloc'] tbody tr")
    for text in (f"{chains['steps'][0]:,}", f"{chains['ended'][0]:,}", short(chains["copied"][0]),
                 f"{short(chains['reserve'][0])} covers", "read_body"):
        assert text in row
    found = next(one for one in server.json("/data/last/findings")["findings"] if one["kind"] == "realloc_chains")
    assert [found["numbers"][name] for name in ("calls", "copied_bytes", "chains", "reserve_bytes", "reserved_chains")] \
        == [chains[name][0] for name in ("steps", "copied", "ended", "reserve", "covered")]


def test_names_on_a_phone(page, server):
    """Numbers are scrolled beneath the names that they are of."""
    page.open("#/churn")
    page.size(380, 820, touch=True)
    page.settle()
    names = page.run("""return [...document.querySelectorAll('.scroll-x td.text a')].map((one) => {
        const box = one.getBoundingClientRect(), at = document.elementFromPoint(box.left + 20, box.top + 5);
        return [box.left + 60 < 380, one.contains(at) || box.top > 700]; })""")
    assert names and all(left and shown for left, shown in names), names


@pytest.mark.long
def test_distributions_filter_by_a_drag(page, server):
    """What is dragged over is a condition, and the numbers are those of the server with it."""
    page.open("#/distributions?metric=calls")
    assert f"{server.json('/data/last/summary')['all']['calls']:,} calls" in words(page)
    page.drag(".histogram", (0.01, 0.5), (0.3, 0.5))
    found = re.search(r"size_max=(\d+)", page.hash)
    assert found, page.hash
    calls = server.json("/data/last/summary", size_max=found[1])["matched"]["calls"]
    assert f"{calls:,} calls" in words(page)
    assert page.texts(".heat-cells > .heat-5")


@pytest.mark.long
def test_who_keeps_a_page_alive(page, server):
    """Moments (c) and (d): memory stays resident after a drop; a page says which blocks keep it."""
    page.open()
    page.click(".finding[data-kind=stayed_resident] a")
    at = re.search(r"range=moment:(\d+)ns", page.hash)[1]
    space = server.json("/data/last/space", at=f"{at}ns")
    pages = short(4096 * space["pages"])
    assert f"{short(space['used'])} of blocks keep {pages} of pages" in words(page)
    resident = words(page, ".resident")
    assert re.fullmatch(r"[\d.]+ MB was resident then: beside live blocks [\d.]+ MB of free memory, stacks and mappings "
                        r"of its own, and [\d.]+ [KM]B of files and code\.", resident), resident
    page.hover(".strip-field", 0.5)
    shown = re.search(r"pages kept at ([\d.]+ \w+)\s+([\d.]+ [KM]?B)", words(page, ".strip-box"))
    ends = server.json("/data/last/series")["at_ns"]
    asked = [ends[-(-(i + 1) * len(ends) // 24) - 1] for i in range(24)]
    near = min(asked, key=lambda ns: abs(ns - ends[len(ends) // 2]))
    assert shown[2] == short(4096 * server.json("/data/last/space", at=f"{near}ns")["pages"]), (shown[0], near)
    page.open("#/space")  # at the peak the report's block is live; how much of it was touched is for samples to say
    assert re.search(r"(had been touched|of files and code|no sample of the process's memory is near)\.$",
                     words(page, ".resident"))
    page.run("document.querySelector('.space-map').focus()")
    page.press("\ue014")
    text = page.wait("return document.querySelector('.space-page table')?.closest('section').textContent")
    first = space["lanes"][0]
    blocks = server.json("/data/last/allocations", alive_at=f"{at}ns", sort_by="address",
                         address_min=first["start"] + first["cells"]["first"][0] * space["cell"])["allocations"]
    assert f"{first['cells']['blocks'][0]} block" in text
    assert f"{blocks[0]['address']:x}" in text


@pytest.mark.long
@pytest.mark.parametrize("sample", ["mappings", "web_server"])
def test_the_allocators_mappings_are_apart(browse, serve, record, compile_sample, sample):  # noqa: F811
    server = serve(record([compile_sample(sample)], check=False).path)
    page = browse(server)
    page.open("#/mappings")
    space, count = server.json("/data/last/space"), server.json("/data/last/maps", count=1)["total_count"]
    assert words(page).startswith(f"{count} mapping" if count else "The program mapped no memory by itself")
    apart = words(page, "section[aria-label=\"the allocator's own\"]")
    if not space["lanes"]:
        assert "no block lives" in apart
        return
    assert f"in {len(space['lanes'])} heap" in apart and short(4096 * space["pages"]) in apart
    for lane in space["lanes"]:
        assert f"{lane['start']:x}" in apart and short(lane["end"] - lane["start"]) in apart


MAPS = '''
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static char *load_tile(void) { return mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void)
{
	void *volatile block = malloc(100);
	for (int i = 0; i < 4; i++)
		memset(load_tile(), 1, 4 << 20);
	free(block);
}
'''


def test_what_is_mapped_instead(browse, serve, record, tmp_path):  # noqa: F811
    """The words of the command line, with a way to the mappings; "everything was freed" is nowhere."""
    (tmp_path / "maps.c").write_text(MAPS)
    subprocess.run(["gcc", "-g", "-O0", "-o", tmp_path / "maps", tmp_path / "maps.c"], check=True)
    page = browse(serve(record([tmp_path / "maps"]).path))
    freed = "Every block was freed; 16.8 MB of its own mappings were not."
    page.open()
    assert "resident beyond what malloc handed out: 4 mappings by load_tile" in words(page, ".headline")
    assert words(page, ".finding[data-kind=mapped]").count("maps.c:") == 1
    assert freed in words(page, ".overview-tables")
    page.size(768, 900)
    page.wait("return document.documentElement.scrollWidth === 768")  # once the curve is drawn anew
    page.size(1440, 900)
    page.click("details.run-facts:last-of-type summary")
    assert "16.8 MB at the end, 16.8 MB at most, in 4 mappings" in words(page, "details.run-facts:last-of-type")
    page.click(".finding[data-kind=mapped] a")
    assert words(page).startswith("4 mappings of the program's own")
    page.open("#/leaks")
    page.wait(f"return document.querySelector('h1')?.textContent.replaceAll('\u00a0', ' ') === {json.dumps(freed)}")


BLIND = """
#include <stddef.h>
#include <string.h>
static char memory[1 << 20];
static size_t used;
void *malloc(size_t size) { used += size + 15 & ~15ul; return memory + used - (size + 15 & ~15ul); }
void free(void *block) { (void)block; }
int main(void) { return !memset(malloc(1000), 1, 1000); }
"""


def test_what_nobody_saw(browse, serve, record, tmp_path):  # noqa: F811
    """Of a program whose malloc mallow does not see nothing is said to be well."""
    (tmp_path / "blind.c").write_text(BLIND)
    subprocess.run(["gcc", "-fno-builtin", "-o", tmp_path / "blind", tmp_path / "blind.c"], check=True)
    page = browse(serve(record([tmp_path / "blind"], settings={"PATCH": "off"}).path))
    page.open()
    assert "No allocation was seen." in words(page, ".headline")
    found = words(page, ".overview section")
    assert "Nothing was seen that could stand out." in found and "Nothing stands out" not in found
    assert "The program defines malloc itself" in found


@pytest.mark.long
def test_who_frees_for_whom(page, server):
    """Moment (g): the matrix has the server's sums."""
    page.open("#/threads")
    sums = server.json("/data/last/sums", by="thread,free_thread")
    freeing = [sums["keys"][1]["name"][i] for i in sums["second"]]
    allocating = [sums["keys"][0]["name"][i] for i in sums["key"]]
    others = sum(total for total, by, of in zip(sums["total"], freeing, allocating) if by == "drain" != of)
    assert f"drain freed {short(others)} that others allocated" in words(page)
    cells = [text.replace(NBSP, " ") for text in page.texts(".matrix td") if text]
    for total in sums["total"]:
        assert short(total) in cells


@pytest.mark.long
def test_processes(browse, serve, tool, compile_sample, tmp_path):
    """A tree of who started whom, with the numbers of the list."""
    tool("run", "-o", tmp_path / "p.mallow", "--", "sh", "-c", f"{compile_sample('totals')}; true", check=False)
    server = serve(tmp_path)
    listed = server.json("/list")
    page = browse(server)
    page.open("#/processes")
    assert f"{len(listed)} processes" in words(page) and len(listed) >= 2
    rows = "\n".join(page.texts(".processes tbody tr")).replace(NBSP, " ")
    for one in listed:
        assert str(one["pid"]) in rows and short(one["peak"]) in rows and f"{one['calls']:,}" in rows
        assert one["path"].rpartition("/")[2] in rows
    assert len(page.texts(".lane-area")) == len(listed) + 1
    whole = json.loads(tool("report", "--merge", "--json", *sorted(tmp_path.glob("p.mallow*"))).stdout)
    assert f"together at most {short(whole['peak_bytes'])}" in words(page)
    page.open("#/overview")
    assert f"One of {len(listed)} processes of its run: all as one" in words(page, ".of-run")
    page.click(".of-run a", "all as one")
    merged = page.hash
    assert f"All {len(listed)} processes of the run as one" in words(page, ".of-run")
    page.click(".of-run a")
    page.click(".process-sum a")
    assert page.hash == merged
    assert f"{len(listed)} processes as one" in words(page, ".chips")
    place = page.hash
    for name in ("overview", "sites", "flame", "tree"):
        page.open(place.replace("overview", name))
        assert short(whole["peak_bytes"]) in words(page), name
        if name != "overview":
            page.open(f"{place.replace('overview', name)}&metric=leaked")
            assert short(whole["leaked_bytes"]) in words(page), name
    for name in ("allocations", "space", "threads"):
        page.open(place.replace("overview", name))
        assert words(page).startswith("Several processes as one have sums")
        assert not page.axe()


@pytest.mark.long
def test_two_thousand_recordings(browse, serve, record, compile_sample, tmp_path):  # noqa: F811
    """The choice of recordings is a tree with a search, by keyboard alone, too."""
    data = bytearray(record([compile_sample("totals")], bare=False, check=False).path.read_bytes())
    for number in range(2000):
        data[16:32] = (number + 1).to_bytes(16, "little")
        folder = tmp_path / f"day{number // 500}"
        folder.mkdir(exist_ok=True)
        (folder / f"run{number}.mallow").write_bytes(data)
    server = serve(*(tmp_path / f"day{day}" for day in range(4)))
    page = browse(server)
    page.open("#/overview", 2 * PATIENCE)
    assert words(page, ".of-run") == "1,999 recordings of other runs"
    page.mark()
    page.click(".recording button")
    assert "2,000 recordings" in words(page, ".recordings p")
    assert page.longest_task() < 1000
    assert not page.axe()
    folders = page.texts(".recording-tree > details > summary")
    assert [text.rpartition("/")[2] for text in folders] == [f"day{day} 500 runs" for day in range(4)]
    page.press("run1234.")
    assert "1 of 2,000 recordings" in words(page, ".recordings p")
    page.press(Keys.ARROW_DOWN + Keys.ARROW_DOWN)
    assert page.run("return document.activeElement.innerText").startswith("totals run1234.mallow")
    page.press(Keys.ARROW_LEFT + Keys.ARROW_LEFT)
    assert not page.run("return document.activeElement.closest('details').open")
    page.press(Keys.ARROW_RIGHT + Keys.ARROW_DOWN + Keys.ENTER)
    assert f"r={(1235).to_bytes(16, 'little').hex()}" in page.hash
    assert not page.run("return document.querySelector('dialog')")


@pytest.mark.long
@pytest.mark.parametrize("sample, name", [("totals", None), ("pools", "Pools"), ("wrong_frees", "Errors"),
                                          ("mappings", "Mallopts")])
def test_pages_of_what_there_is(browse, serve, record, compile_sample, sample, name):  # noqa: F811
    """Pools, errors and mallopts stand in the rail only where there are any."""
    server = serve(record([compile_sample(sample)], check=False).path)
    page = browse(server)
    page.open(f"#/{name.lower()}" if name else "")
    rail = set(page.texts(".rail a"))
    assert {"Pools", "Errors", "Mallopts"} & rail == ({name} if name else set())
    if name == "Pools":
        assert "arena" in words(page)
    elif name == "Errors":
        count = sum(error["count"] for error in server.json("/data/last/errors")["errors"])
        assert words(page).startswith(f"{count} wrong frees")
    elif name == "Mallopts":
        assert words(page).startswith(f"{len(server.json('/data/last/mallopts'))} call")


@pytest.mark.long
def test_a_recording_that_is_written(browse, mallow, rounds):  # noqa: F811
    """It is followed; the mark, the pause, and what grew since; in the end it has all that the server has."""
    program = rounds(2000)
    server = Server(mallow, program.path)
    page = browse(server)

    def calls():
        found = re.search(r"([\d,]+) allocations", page.text(".recording-words"))
        return int(found[1].replace(",", ""))

    page.open()
    page.wait_for(lambda: page.text(".live b") == "live")
    before = calls()
    program.step()
    page.wait_for(lambda: calls() > before)
    page.settle()
    assert re.match(r"[\d.]+.[KM]?B · in_rounds", page.driver.title), page.driver.title
    page.click(".live button", "Mark")
    program.step()
    page.click(".live button", "grew since")
    page.wait_for(lambda: "range=grew:" in page.hash)
    page.wait_for(lambda: re.search(r"^[+−]", page.text(".sum")) is not None)
    page.click(".live button", "Pause")
    page.settle()
    paused = calls()
    program.step()
    page.wait_for(lambda: server.json("/data/last/summary")["all"]["calls"] > paused)
    assert calls() == paused  # the server has it, the page does not
    page.click(".live button", "Go on")
    page.wait_for(lambda: calls() > paused)
    program.end()
    page.wait_for(lambda: page.text(".live b") == "ended")
    page.wait_for(lambda: calls() == server.json("/data/last/summary")["all"]["calls"])
    page.settle()
    server.end()


def test_a_process_that_is_attached_to(browse, mallow, compile_sample, tmp_path):
    """The page follows it: what it allocates appears; at the end the page says so, and has all."""
    need_bpf()
    program = compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin"])
    path = tmp_path / "attached.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        server = Server(mallow, path)
        page = browse(server)
        target.do("leak")
        page.open()
        page.wait_for(lambda: page.text(".live b") == "live")
        page.wait_for(lambda: "1 allocation" in page.text(".recording-words").replace(NBSP, " "))
        target.do("all")
        page.wait_for(lambda: "keep_large" in page.text("main"))
        attach.end()
        page.wait_for(lambda: page.text(".live b") == "ended")
        page.wait_for(lambda: "keep_large" in page.text("main"))
        page.open("#/sites")
        assert "keep_large" in page.text(".grid") and "2.60 MB" in page.text(".grid").replace(NBSP, " ")
        page.settle()
        server.end()


@pytest.mark.long
def test_a_live_table(browse, serve, tmp_path):  # noqa: F811
    """It has what lives now: pages say so instead of 0 B freed and never freed."""
    made = MadeLive(tmp_path, stack := ["_start", "main"])
    number = made.site(stack, 40, 4_000, freed=(20, 2_000))
    thread = made.thread("worker", 40, 4_000, tid=123)
    for i in range(20):
        made.small_block(0x7f00_0000_0000 + 112 * i, 100, number, thread, i * 1_000_000)
    server = serve(made.write())
    page = browse(server)
    page.open("#/allocations")
    page.wait_for(lambda: words(page) == "20 blocks live now, 2.00 KB.")
    assert "freed by" not in words(page, ".grid") and "never" not in words(page, "main")
    for name, starts in (("sites", "1 site · 2.00 KB live now"), ("tree", "2.00 KB live now"), ("threads", "2.00 KB live of 1 thread"),
                         ("distributions", "2.00 KB live now"), ("space", "At "),
                         *((name, "A live table has the blocks that live now") for name in ("churn", "leaks", "mappings", "compare"))):
        page.open(f"#/{name}")
        page.wait_for(lambda: words(page).startswith(starts))
        assert "never freed" not in words(page, "body") and not page.axe(), name
        assert page.texts(".metrics button") == ["bytes", "blocks", "calls"]
    # The marks of glibc's heaps are not in it.
    assert {lane["kind"] for lane in server.json("/data/last/space")["lanes"]} == {"range"}
    assert server.json("/data/last/allocations", count=1)["allocations"][0]["in_main_arena"] is None
