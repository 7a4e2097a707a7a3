"""Commands of real programs that allocate a lot, by name, for tests that run them all."""
import test_real_programs as programs
from conftest import TOP, need

NAMES = ["python3", "clang++", "sqlite3", "perl", "git", "node"]


def command(name, folder):
    """The command and the additions to its environment; files go to the folder."""
    if name == "python3":
        return (["/usr/bin/python3", "-c", programs.PYTHON],
                {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})
    if name == "clang++":
        source = folder / "regex.cpp"
        source.write_text(programs.REGEX)
        return [need("clang++"), "-O0", "-c", source, "-o", folder / "regex.o"], {}
    if name == "sqlite3":
        return [need("sqlite3"), ":memory:", programs.SQL], {}
    if name == "perl":
        return [need("perl"), "-e", programs.PERL], {"PERL_HASH_SEED": "0"}
    if name == "git":
        return ([need("git"), "-C", TOP, "log", "--stat", "--no-merges", "--no-color", "-30"],
                {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat"})
    assert name == "node"
    return [need("node"), "-e", programs.NODE], {}
