"""How functions are called in texts: in short, within a width, and no two of them alike."""
import re

import pytest

from command_line import on_terminal
from conftest import clean_environment
from made_recording import Made

# --- the width ---


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    made = Made(tmp_path_factory.mktemp("wide"), ["main", long_name("A" * 60, "B" * 60)],
                arguments=["word"] * 50)
    made.allocate(["main", long_name("A" * 60, "B" * 60)], 100)
    return made.write()


VIEWS = [[], ["--tree"], ["--by", "function"], ["--by", "frame"], ["--histogram", "size"]]


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_a_pipe_is_a_page(mallow, tool, wide, view):
    """80 columns. A terminal has its own width, unless another one is asked for."""
    quiet = clean_environment({"NO_COLOR": "1"})

    def report(*options):
        return tool("report", *view, *options, wide).stdout

    def shown(columns, *options):
        return on_terminal([mallow, "report", *view, *options, wide], columns, quiet)

    assert report() == report("--width", 80) == shown(80) == shown(120, "--width", 80)
    assert report("--width", 120) == shown(120) == shown(50, "--width", 120)
    for columns in (40, 60, 80, 120):
        lines = report("--width", columns).splitlines()
        if not view:  # words of sentences and of commands are whole
            lines = [lines[0], *lines[next(n for n, line in enumerate(lines) if line.startswith("At the peak")):]]
        assert max(len(line) for line in lines if "AAA" in line or "word" in line) <= columns
    # Less than 40 is 40: names need room.
    assert report("--width", 1) == report("--width", 39) == report("--width", 40)


@pytest.mark.parametrize("width", [0, 70_000, 2**63])
def test_any_width(tool, wide, width):
    """Nothing is cut; names are short all the same, unless --full wants them whole."""
    text = tool("report", "--width", width, wide).stdout
    assert "toyd " + " ".join(["word"] * 35) in text and "Table<int>::" + "A" * 60 in text
    assert "Table<int>::" + "A" * 60 + "<" + "B" * 60 + ">\n" in text
    full = tool("report", "--full", wide).stdout
    assert "void Table<int>::" + "A" * 60 + "<" + "B" * 60 + ">(int, char)\n" in full


# --- no two alike ---

def part(name):
    return f"{len(name)}{name}"


def long_name(function, argument):
    """void Table<int>::function<argument>(int, char)"""
    return f"_ZN5TableIiE{part(function)}I{part(argument)}EEvic"


FUNCTIONS = [
    # Overloads; templates that differ in an argument that the library fills in; plain C.
    "_Z4growi", "_Z4growc", "_Z4growv", "grow",
    "_ZNSt6vectorIiSaIiEE4growEi", "_ZNSt6vectorIiSaIiEE4growEc", "_ZNSt6vectorIiSaIcEE4growEi",
    "_ZNSt6vectorIiSaIiEE4growEPKc", "_ZNKSt6vectorIiSaIiEE4growEi",
    "_ZNSt3mapIiiSt4lessIiESaIiEE4growEv", "_ZNSt3mapIiiSt4lessIcESaIiEE4growEv",
    # Long, and different in front, in the middle, at the end only.
    *(long_name(f"x{i}" + "a" * 90, "z" * 90) for i in range(5)),
    *(long_name("a" * 90, "b" * 40 + f"x{i}" + "b" * 40) for i in range(5)),
    *(long_name("a" * 40 + f"x{i}" + "a" * 40, "z" * 90) for i in range(5)),
    *(long_name("c" * 90, "z" * 90 + f"x{i}") for i in range(5)),
    *(f"_ZN5TableIiE1fIiEEv{'i' * (50 + i)}" for i in range(5)),
    *("d" * 100 + f"{i}" + "d" * 100 for i in range(5)),
]


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    made = Made(tmp_path_factory.mktemp("alike"), ["main", *FUNCTIONS])
    for function in FUNCTIONS:
        made.allocate(["main", function], 1000)
    return made.write()


def names_of(text, view):
    """The name in each row, without those of main."""
    lines = text[re.search(r"^(All|Call tree|At the peak)", text, re.M).start():].splitlines()
    if view[:1] == ["--by"]:
        column = lines[2].index(view[1])
        rows = lines[3:lines.index("", 3)] if "" in lines[3:] else lines[3:]
        found = [line[column:] for line in rows]
    elif view == ["--tree"]:
        found = [match[1] for match in (re.match(r" *[\d.]+ % +\S+ K?B +[│├└─ ]*(.*)", line)
                                        for line in lines[1:]) if match]
    else:
        found = [line[5:] for line in lines if re.match(r" {5}[^ ]", line)]
    return [name for name in found if name != "main"]


@pytest.mark.parametrize("width", [40, 50, 60, 80, 132, 0])
@pytest.mark.parametrize("view", [[], ["--tree"], ["--by", "function"], ["--by", "frame"]], ids=str)
def test_no_two_functions_read_the_same(tool, alike, view, width):
    text = tool("report", *view, "--top", 0, "--width", width, alike).stdout
    names = names_of(text, view)
    of_library = [name for name in FUNCTIONS if re.match("_ZNK?St", name)]
    # What the library allocates is of main's own code, and there is no row for it.
    wanted = len(FUNCTIONS) - (len(of_library) if view == ["--by", "function"] else 0)
    assert len(names) == len(set(names)) == wanted
    if width >= 60:
        assert max(map(len, names)) <= width - 5


@pytest.mark.parametrize("width", [40, 60, 80, 120, 0])
def test_no_two_modules_read_the_same(tool, tmp_path, width):
    """Paths that differ in front, in the middle, at the end only."""
    paths = [f"/opt/{i}/{'d' * 90}/lib.so" for i in range(5)] + \
        [f"/opt/{'d' * 45}{i}{'d' * 45}/lib.so" for i in range(5)] + [f"/opt/{'d' * 90}/lib{i}.so" for i in range(5)]
    made = Made(tmp_path, ["main"], libraries=[(path, [f"f{i}"]) for i, path in enumerate(paths)])
    for i in range(len(paths)):
        made.allocate(["main", f"f{i}"], 1000)
    text = tool("report", "--by", "module", "--top", 0, "--width", width, made.write()).stdout
    names = names_of(text, ["--by", "module"])
    assert len(names) == len(set(names)) == len(paths)
    assert not width or width < 60 or max(len(line) for line in text.splitlines() if ".so" in line) <= width
    assert width or set(paths) == set(names)


def test_json_has_both(tool, alike):
    """The whole name tells functions apart, the short one need not."""
    frames = [site["stack"][0] for site in tool.report(alike)["sites"]]
    assert len({frame["function"] for frame in frames}) == len(FUNCTIONS)
    shorts = [frame["short"] for frame in frames]
    assert shorts.count("grow") == 4 and shorts.count("std::vector<int>::grow") == 5
    assert shorts.count("Table<int>::f<int>") == 5
