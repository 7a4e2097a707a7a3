"""The repository whose log the benchmark shows: the same commits, with the same ids, everywhere.

    repository.py FOLDER        makes it there unless it is there
"""
import os
import pathlib
import random
import subprocess
import sys

COMMITS, FILES, LINES = 3000, 200, 60
START = 1700000000


def text_of(chance, lines):
    words = ("value", "count", "list", "node", "text", "size", "index", "buffer")
    return [" ".join(chance.choices(words, k=6)) for _ in range(lines)]


def blob(path, lines):
    data = ("\n".join(lines) + "\n").encode()
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)


def stream():
    """What `git fast-import` reads: each commit changes some lines of some files."""
    chance = random.Random(1)
    files = {f"part{number % 12}/file{number}.txt": text_of(chance, LINES)
             for number in range(FILES)}
    paths = list(files)
    for commit in range(COMMITS):
        message = f"Change number {commit}\n".encode()
        yield (b"commit refs/heads/main\ncommitter A Writer <writer@example.org> %d +0000\n"
               b"data %d\n%s" % (START + commit * 600, len(message), message))
        changed = paths if commit == 0 else chance.sample(paths, chance.randint(1, 12))
        for path in changed:
            at = chance.randrange(len(files[path]))
            files[path][at:at + chance.randint(0, 4)] = text_of(chance, chance.randint(1, 4))
            yield blob(path, files[path])
        yield b"\n"


def make(folder):
    if folder.exists():
        return
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", partial], check=True, env=env)
    subprocess.run(["git", "--git-dir", partial, "fast-import", "--quiet"], check=True, env=env,
                   input=b"".join(stream()))
    partial.rename(folder)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
