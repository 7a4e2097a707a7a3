"""What the benchmark runs: programs that allocate, each with output that is the same every time."""
import dataclasses
import pathlib
import shutil
import subprocess
import time
import typing

BENCH = pathlib.Path(__file__).resolve().parent
SOURCES = BENCH / "workloads"


@dataclasses.dataclass
class Workload:
    """One program. `command(place, folder)` gives its words: place is where built things are
    (class Place), folder an empty one for this run."""
    name: str
    about: str
    command: typing.Callable
    needs: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    files: tuple = ()               # in the folder: results that must be the same, besides stdout
    drive: typing.Callable = None   # drive(folder): what uses it while it runs; returns its output
    by_default: bool = True
    counts: bool = True             # in the mean and the goals
    compare: bool = True            # False: takes minutes under tools only there to compare
    read: bool = False              # also time how long the recording takes to be reported


def clang(place, folder):
    return ["clang++", "-std=c++17", "-O2", "-c", SOURCES / "regex.cpp", "-o", folder / "regex.o"]


def redis_server(place, folder):
    return ["redis-server", "--port", "0", "--unixsocket", folder / "socket", "--save", "",
            "--appendonly", "no", "--dir", folder, "--logfile", folder / "log", "--daemonize", "no"]


def redis_drive(folder, *options):
    """Waits for the server, loads it, asks what is in it, and ends it."""
    socket = ["-s", str(folder / "socket")]

    def ask(*words):
        run = subprocess.run(["redis-cli", *socket, *words], capture_output=True, text=True)
        return run.stdout

    for _ in range(600):
        if ask("PING") == "PONG\n":
            break
        time.sleep(0.05)
    else:
        raise RuntimeError("redis-server does not answer")
    # Of 2,500 random keys each is met, in 50,000 requests, but for one run in 200,000: the numbers
    # of keys and members are the same in every run.
    subprocess.run(["redis-benchmark", *socket, "-q", "-n", "50000", "-r", "2500", *options, "-t",
                    "set,get,incr,lpush,rpop,sadd,hset,zadd"], check=True, capture_output=True)
    answers = [ask(*question.split()) for question in (
        "DBSIZE", "LLEN mylist", "SCARD myset", "HLEN myhash", "ZCARD myzset")]
    ask("SHUTDOWN", "NOSAVE")
    return "".join(answers)


REDIS = ("redis-server", "redis-benchmark", "redis-cli")
QUIET_GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}

WORKLOADS = [
    Workload("python", "python3, JSON and objects, PYTHONMALLOC=malloc",
             lambda place, folder: ["/usr/bin/python3", SOURCES / "records.py"],
             env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, read=True),
    Workload("pools", "the same with Python's own pools, which hand out most blocks",
             lambda place, folder: ["/usr/bin/python3", SOURCES / "records.py"],
             env={"PYTHONHASHSEED": "0"}, counts=False, compare=False),
    Workload("clang", "clang++ -O2 -c of a file with <regex>", clang, needs=("clang++",),
             files=("regex.o",), compare=False, read=True),
    Workload("sqlite", "sqlite3 in memory: 200,000 rows, an index, groups",
             lambda place, folder: ["sqlite3", ":memory:", f".read {SOURCES / 'inserts.sql'}"],
             needs=("sqlite3",)),
    Workload("perl", "perl, hashes of arrays",
             lambda place, folder: ["perl", SOURCES / "hashes.pl"], needs=("perl",),
             env={"PERL_HASH_SEED": "0"}),
    Workload("git", "git log --stat of 3,000 commits",
             lambda place, folder: ["git", "--git-dir", place.repository(), "log", "--stat",
                                    "--no-color"], needs=("git",), env=QUIET_GIT),
    Workload("node", "node: maps, JSON, zlib",
             lambda place, folder: ["node", SOURCES / "maps.js"], needs=("node",)),
    Workload("redis", "redis-server under redis-benchmark; the server alone is measured",
             redis_server, needs=REDIS, drive=redis_drive, compare=False),
    Workload("redis-p16", "the same, 16 commands a packet (redis-benchmark -P 16)", redis_server,
             needs=REDIS, drive=lambda folder: redis_drive(folder, "-P", "16"), counts=False,
             compare=False),
    Workload("pairs", "two C threads, 10 M malloc/free pairs each",
             lambda place, folder: [place.program("pairs"), "2", "10000000"], counts=False,
             compare=False),
    Workload("tiny", "a C program of 20,000 pairs, to try the benchmark itself",
             lambda place, folder: [place.program("pairs"), "1", "20000", "5"], by_default=False,
             counts=False),
]


def missing(workload):
    """What the machine lacks for it, or None."""
    lacking = [program for program in workload.needs if not shutil.which(program)]
    return f"{', '.join(lacking)} not installed" if lacking else None
