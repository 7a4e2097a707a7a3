"""docs/compatibility.md: recordings of older and later versions, names that stay, and the page itself."""
import ast
import gzip
import json
import os
import re
import struct
import subprocess

import pytest
import xxhash

import mallow_reader
from conftest import TOP, clean_environment, need
from mallow_sums import Sums
from recording_writer import ChunkWriter, PAGE, Writer
from stories import definitions

GOLDEN = TOP / "tests" / "golden"
KEPT = GOLDEN / "recordings"
ACCEPT = bool(os.environ.get("MALLOW_ACCEPT"))
MAJOR, MINOR = (int(re.search(rf"define TRACE_VERSION_{part} +(\d+)", (TOP / "src/trace/format.h").read_text())[1])
                for part in ("MAJOR", "MINOR"))
VERSION = re.search(r"version: '([\d.]+)'", (TOP / "meson.build").read_text())[1]
# What finishing, or a chunk more, changes.
OF_THE_FILE = {"path", "file_size", "chunks", "format_minor", "finished", "compressed", "bytes_per_event"}


# --- recordings ---

def recorded(minor, later=False):
    """The bytes of a small recording; later: with all that a later minor version may add to it."""
    chunk = ChunkWriter(1, 0, 1000)
    chunk.monotonic = 1000
    definitions(chunk)
    if later:
        chunk.other(0x9C, 5, text=b"of a later version")
        chunk.other(0xFF, text=bytes(300))
        chunk.other(0x81, 5, 0x401300, 1, 64, 9, text=b"what flag 64 of a frame means")
        chunk.other(0x86, chunk.at(1001), 7, 8, 9)
        chunk.other(0x88, chunk.at(1050), 0, 0x10000, 4096, 3, 34, 1, 0, 77, 78)
    else:
        chunk.other(0x81, 5, 0x401300, 1)
        chunk.other(0x86, chunk.at(1001))
        chunk.other(0x88, chunk.at(1050), 0, 0x10000, 4096, 3, 34, 1, 0)
    first, *rest = [chunk.allocate(1, 1100 + i, 0x20000 + 256 * i, 100 + i, change=(i % 2, [1 + i % 5]))
                    or 0x20000 + 256 * i for i in range(20)]
    chunk.free(1200, first)
    chunk.other(0x8D, chunk.at(1250), text=b"loaded")
    chunk.other(0x91, chunk.at(2000), 2000, 1, 0, *([0, 5, 6] if later else []))
    writer = Writer(minor=minor, flags=1 << 20 if later else 0, id=bytes(range(16)))
    writer.add(chunk.image())
    if later:
        strange = ChunkWriter(0, 0, 1000)
        strange.kind = 77
        strange.payload += b"a chunk of another time"
        writer.pieces.insert(0, strange.image())
    data = bytearray(writer.image())
    if later:
        data[2048:4096] = b"\xA5" * 2048  # reserved
    return bytes(data)


def shown(tool, path):
    report = json.loads(tool("report", "--json", "--top", 1000, path).stdout)
    return [{key: value for key, value in said.items() if key not in OF_THE_FILE}
            for said in (report, tool.info(path))]


def sums(data):
    recording = mallow_reader.Recording(data)
    assert not recording.damages and not recording.missing
    said = Sums(recording)
    return said.calls, said.total_bytes, said.peak_bytes, said.leaked_bytes, len(said.sites)


def test_older_minor_versions(tool, tmp_path):
    """What a file has decides how it is read, not its minor version: each gives the same answers, finished, too."""
    path, answers = tmp_path / "r.mallow", []
    for minor in range(MINOR + 1):
        path.write_bytes(recorded(minor))
        assert tool.info(path)["format_minor"] == minor
        answers.append(shown(tool, path))
        tool("finish", path)
        assert tool.info(path)["format_minor"] == MINOR
        answers.append(shown(tool, path))
    assert answers[0][0]["calls"] == 20
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("minor", [MINOR, MINOR + 1, 65535])
def test_a_later_minor_version(minor, tool, tmp_path):
    """Kinds of records and chunks, fields, flags and reserved bytes that are not known change no answer; a file that
    is finished keeps them, and its version."""
    path, later = tmp_path / "r.mallow", recorded(minor, later=True)
    path.write_bytes(recorded(MINOR))
    wanted = shown(tool, path)
    path.write_bytes(later)
    assert shown(tool, path) == wanted and sums(later) == sums(recorded(MINOR))
    for way in "never", "always":
        path.write_bytes(later)
        tool("finish", "--compress", way, path)
        assert shown(tool, path) == wanted
        finished = path.read_bytes()
        assert b"a chunk of another time" in finished
        assert struct.unpack_from("<HH", finished, 8) == (MAJOR, minor)
        assert finished[2048:4096] == later[2048:4096]
        assert sums(finished) == sums(later)


@pytest.mark.parametrize("command, status", [
    (["report"], 1), (["info"], 1), (["trace", "dump"], 1), (["export", "--to", "collapsed"], 1), (["finish"], 1),
    (["serve", "--port", "0"], 1), (["top"], 1), (["diff", "r.mallow"], 1), (["check", "--max-peak", "1M"], 3)])
def test_a_later_major_version(command, status, tool, tmp_path):
    """One line for each file says so, and none is changed."""
    path = tmp_path / "r.mallow"
    path.write_bytes(later := Writer(major=MAJOR + 1).image())
    run = tool(*command, "r.mallow", check=False, cwd=tmp_path)
    assert run.returncode == status
    assert 1 <= run.stderr.count("\n") <= command.count("r.mallow") + 1
    assert all(line.startswith("mallow: ") for line in run.stderr.splitlines())
    if command != ["finish"]:
        assert re.search(rf"version {MAJOR + 1}\.0 of the format|of a later version", run.stderr)
    assert path.read_bytes() == later


def test_names_and_index_of_a_later_version(tool, tmp_path):
    """They are not used: the events are read, and names looked for elsewhere."""
    path = tmp_path / "r.mallow"
    path.write_bytes(recorded(MINOR))
    wanted = shown(tool, path)
    tool("finish", "--compress", "never", path)
    data = bytearray(path.read_bytes())
    changed = []
    for chunk in mallow_reader.Recording(bytes(data)).chunks:
        if chunk.kind in (3, 4):
            payload, end = chunk.offset + 64, chunk.offset + chunk.size - 8
            assert data[payload] == 0  # stored as it is
            data[payload + 1] = 99
            data[end:end + 8] = struct.pack("<Q", xxhash.xxh64_intdigest(bytes(data[chunk.offset:end]), seed=0))
            changed.append(chunk.kind)
    assert set(changed) == {3, 4}
    path.write_bytes(data)
    assert shown(tool, path) == wanted


# --- recordings that older versions made ---

def differences(wanted, found, at=""):
    """Where what was there is missing, or another: what is there besides is no matter."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [wrong for key, value in wanted.items() for wrong in
                (differences(value, found[key], f"{at}.{key}") if key in found else [f"{at}.{key} is missing"])]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [wrong for i, value in enumerate(wanted) for wrong in differences(value, found[i], f"{at}[{i}]")]
    return [] if wanted == found else [f"{at}: {found!r:.200} instead of {wanted!r:.200}"]


# Judgements and words, which become better, and what is looked for in files of this machine.
NOT_KEPT = {"path", "typed", "headline", "findings", "findings_missing", "unseen", "short", "plumbing"}
NAMES = {"frames", "stacks"}  # if they are not in the file
THREADS = {"threads"}  # of a live table: entries of its table


def without(names, value):
    if isinstance(value, list):
        return [without(names, item) for item in value]
    if isinstance(value, dict):
        return {key: without(names, item) for key, item in value.items() if key not in names}
    return value


def columns(tool, words):
    return dict.fromkeys(tool(*words).stdout.splitlines()[0].split(","), True)


@pytest.mark.parametrize("file", sorted(path.name for path in KEPT.glob("*.gz")))
def test_kept_recordings(file, tool, tmp_path):
    """Each is read as when it was made: the sums of all and of each stack, every member of JSON, every column of CSV."""
    path = tmp_path / file.removesuffix(".gz")
    path.write_bytes(gzip.decompress((KEPT / file).read_bytes()))
    info, report = tool.info(path), json.loads(tool("report", "--json", "--top", 1000, path).stdout)
    left_out = NOT_KEPT | (set() if info["finished"] else NAMES) | (THREADS if "-live." in file else set())
    said = {"info": info, "report": report, "columns": columns(tool, ["report", "--csv", path])}
    if info["finished"]:
        moments = [f"{path}@0%", f"{path}@100%"]
        said |= {"columns_by_function": columns(tool, ["report", "--csv", "--by", "function", path]),
                 "columns_of_diff": columns(tool, ["diff", "--csv", *moments]),
                 "diff": json.loads(tool("diff", "--json", *moments).stdout)}
    said = without(left_out, said)
    kept = KEPT / f"{file.removesuffix('.mallow.gz')}.json"
    if ACCEPT and not kept.exists():
        kept.write_text(json.dumps(said, indent=1) + "\n")
    assert differences(json.loads(kept.read_text()), said) == []
    assert tool("report", path).stdout and tool("report", "--tree", path).stdout


def test_a_recording_of_this_format_is_kept():
    """For the next version: tests/golden/recordings/program.c says how."""
    assert {path.name for path in KEPT.glob(f"{MAJOR}.{MINOR}-*.gz")} == {
        f"{MAJOR}.{MINOR}-{kind}.mallow.gz" for kind in ("raw", "finished", "live", "sums")}


# --- names ---

def names_that_are_there(mallow, agent):
    """Options with the commands that have them, variables, formats, functions: one a line."""
    def said(*words):
        return subprocess.run([mallow, *words], capture_output=True, text=True, env=clean_environment()).stdout

    commands = [found.strip() for found in re.findall(r"^  ((?:[a-z]+ )+) +\S", said("--help"), re.M)]
    options = {}
    for command in commands:
        for name in re.findall(r"^  ((?:-\w, |    )--[a-z0-9-]+)", said(*command.split(), "--help"), re.M):
            options.setdefault(name.replace(",", "").split()[-1], []).extend(
                [command.replace(" ", "_"), *(f"{command.replace(' ', '_')}:{word}" for word in name.split(", ")[:-1])])
    yield "commands " + " ".join(commands)
    for name in sorted(options):
        yield f"{name} {' '.join(sorted(options[name]))}"
    for name in re.findall(r"^SETTING\((\w+)", (TOP / "src/settings/settings.def").read_text(), re.M):
        yield f"MALLOW_{name}"
    for name in re.findall(r"^EXPORTER\((\w+)", (TOP / "src/report/export/exporters.def").read_text(), re.M):
        yield f"export {name}"
    symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", agent], capture_output=True, text=True, check=True).stdout
    yield from sorted(set(re.findall(r"\bmallow_api_\w+", symbols)))


def words_of(lines):
    """{name: the commands that have it}; a format's name has its word `export` in front."""
    found = {}
    for line in lines:
        name, *words = [line] if line.startswith("export ") else line.split()
        found[name] = set(words)
    return found


def test_names_stay(mallow, agent):
    """What is in the list is there, for each command. MALLOW_ACCEPT=1 adds what is new; nothing takes a name out."""
    path = GOLDEN / "names.txt"
    there, kept = words_of(names_that_are_there(mallow, agent)), words_of(path.read_text().splitlines())
    if ACCEPT:
        kept = {name: kept.get(name, set()) | words for name, words in (kept | there).items()}
        path.write_text("".join(" ".join([name, *sorted(words)]) + "\n" for name, words in sorted(kept.items())))
    assert set(kept) - set(there) == set() and len(kept) > 150
    assert {name: words - there[name] for name, words in kept.items() if words - there[name]} == {}


OLDER_AGENT = """
#include <stdio.h>
void mallow_api_mark(const char *name) { printf("mark %s\\n", name); }
"""


def test_an_agent_that_has_fewer_functions(tmp_path):
    """A program of this header runs with it: what the agent has is called, all else does nothing."""
    (tmp_path / "agent.c").write_text(OLDER_AGENT)
    subprocess.run([need("gcc"), "-shared", "-fPIC", "-o", tmp_path / "agent.so", tmp_path / "agent.c"], check=True)
    for example in "marks", "pool":
        program = tmp_path / example
        subprocess.run(["gcc", "-I", TOP / "include", "-o", program, TOP / "examples" / f"{example}.c"], check=True)
        run = subprocess.run([program], capture_output=True, text=True, check=True,
                             env=clean_environment({"LD_PRELOAD": tmp_path / "agent.so"}))
        if example == "marks":
            assert run.stdout.splitlines() == ["without mallow", *(f"mark {name}" for name in (
                "read", "request 1", "request 2", "request 3", "done"))]


STRUCTS = """
#include <stddef.h>
#include <mallow/mallow.h>
#define AT(type, member, offset) _Static_assert(offsetof(struct type, member) == (offset), #type " " #member)
AT(mallow_site, hash, 0); AT(mallow_site, stack, 8); AT(mallow_site, depth, 16); AT(mallow_site, allocated, 24);
AT(mallow_site, calls, 32); AT(mallow_site, freed, 40); AT(mallow_site, freed_calls, 48); AT(mallow_site, in_use, 56);
AT(mallow_site, in_use_calls, 64); AT(mallow_site, average, 72);
AT(mallow_thread, name, 0); AT(mallow_thread, allocated, 8); AT(mallow_thread, calls, 16); AT(mallow_thread, freed, 24);
AT(mallow_thread, freed_calls, 32); AT(mallow_thread, allocated_freed, 40); AT(mallow_thread, allocated_freed_calls, 48);
AT(mallow_thread, in_use, 56); AT(mallow_thread, in_use_calls, 64); AT(mallow_thread, freed_by_others, 72);
AT(mallow_thread, freed_by_others_count, 80);
AT(mallow_site_report, count, 0); AT(mallow_site_report, sites, 8);
AT(mallow_thread_report, count, 0); AT(mallow_thread_report, threads, 8);
_Static_assert(sizeof(struct mallow_freed_by) == 24, "an array's element: it does not grow");
_Static_assert(MALLOW_BY_IN_USE == 0 && MALLOW_BY_ALLOCATED == 1 && MALLOW_BY_FREED == 2 && MALLOW_BY_CALLS == 3, "");
_Static_assert(MALLOW_TEXT == 0 && MALLOW_CSV == 1 && MALLOW_JSON == 2, "");
"""


def test_structs_grow_at_their_end():
    """Members stay where programs were compiled to find them, on 64 bits."""
    subprocess.run([need("gcc"), "-I", TOP / "include", "-fsyntax-only", "-x", "c", "-"], input=STRUCTS, text=True, check=True)


# --- the page, and the versions that others name ---

def test_versions_agree():
    """The tool, the packages for Python and Rust, the format's page, and the list of changes."""
    for file, pattern in (("python/pyproject.toml", r'^version = "(.*)"'), ("rust/Cargo.toml", r'^version = "(.*)"')):
        assert re.search(pattern, (TOP / file).read_text(), re.M)[1] == VERSION, file
    changes = (TOP / "CHANGELOG.md").read_text()
    released = re.findall(r"^## (\S+)", changes, re.M)
    assert released[0] == "Unreleased" and VERSION in released
    assert re.search(rf"own version, {MAJOR}\.{MINOR} now", changes)
    page = (TOP / "docs/trace-format.md").read_text()
    assert f"| 8 | 2 | major version, {MAJOR}. " in page and f"| 10 | 2 | minor version, {MINOR}. " in page


DOCUMENTS = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *(TOP / name / "README.md" for name in
                                                                   ("python", "rust", "embed", "web"))])


def test_links_lead_to_files():
    wrong = [f"{document.relative_to(TOP)}: {link}" for document in DOCUMENTS
             for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", document.read_text())
             if "://" not in link and not (document.parent / link).exists()]
    assert wrong == []
    listed = set(re.findall(r"\]\(([\w.-]+\.md)\)", (TOP / "docs/README.md").read_text()))
    assert listed >= {path.name for path in TOP.glob("docs/*.md")} - {"README.md"}


def functions_of(path):
    text = path.read_text()
    if path.suffix == ".py":
        return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    return set(re.findall(r"cmocka_unit_test\w*\((\w+)", text))


def test_the_tests_that_the_page_names_exist():
    """Those of a file in it; those without a file, which come behind others of theirs, in one that the page names."""
    page = (TOP / "docs/compatibility.md").read_text()
    there = {}
    for name in set(re.findall(r"`(\w+\.(?:py|c))::", page)):
        there[name] = set().union(*map(functions_of, TOP.glob(f"tests/**/{name}")))
    named = re.findall(r"`(\w+\.(?:py|c))::(\w+)`", page)
    assert len(named) > 30
    assert [pair for pair in named if pair[1] not in there[pair[0]]] == []
    assert set(re.findall(r"`(test_\w+)`", page)) - set().union(*there.values()) == set()
