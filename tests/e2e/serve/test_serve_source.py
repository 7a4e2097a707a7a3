"""/source: the text of source files that frames name, of no others, and only if the user says so; /errors
and /pools: what the reports have."""
import json
import os
import shutil

import pytest

from servers import serve  # noqa: F401

TEXT = """#include <stdlib.h>
void *volatile kept;
int main(void)
{
	kept = malloc(1000); /* caf\xe9 */
	return 0;
}"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A program whose source is nobody else's, and where that lies."""
    folder = tmp_path_factory.mktemp("source") / "here" / "app"
    folder.mkdir(parents=True)
    source = folder / "kept.c"
    source.write_bytes(TEXT.encode("latin-1"))
    os.utime(source, (1_000_000_000, 1_000_000_000))
    assert os.system(f"cd {folder} && gcc -g -O0 {source} -o {folder}/kept") == 0
    return source


@pytest.fixture
def recording(built, record):
    return record([built.parent / "kept"]).path


def ask(server, path):
    return server.json("/data/last/source", file=str(path))


def test_text(serve, recording, built):  # noqa: F811
    """Line by line; bytes that are no UTF-8 do not break the answer."""
    server = serve("--sources", recording)
    assert server.json("/data/last/summary")["sources"] is True
    answer = ask(server, built)
    assert answer["lines"] == TEXT.replace("\xe9", "\ufffd").split("\n")
    assert (answer["file"], answer["path"], answer["newer"]) == (str(built), str(built), False)
    os.utime(built)
    assert ask(server, built)["newer"] is True
    os.utime(built, (1_000_000_000, 1_000_000_000))
    built.rename(built.with_suffix(".gone"))
    try:
        told = server.refused(f"/data/last/source?file={built}", 404)
        assert str(built) in told and "--sources=DIR" in told
    finally:
        built.with_suffix(".gone").rename(built)


def test_only_if_asked_for(serve, recording, built):  # noqa: F811
    server = serve(recording)
    assert "--sources" in server.refused(f"/data/last/source?file={built}", 403)
    assert server.json("/data/last/summary")["sources"] is False
    server = serve("--sources=0", recording)
    assert "--sources" in server.refused(f"/data/last/source?file={built}", 403)


def test_only_what_frames_name(serve, recording, built):  # noqa: F811
    server = serve("--sources", recording)
    secret = built.parent / "secret.c"
    secret.write_text("secret")
    for path in ("/etc/passwd", secret, f"{built.parent}/../app/kept.c", f"{built}/", "kept.c", "."):
        told = server.refused(f"/data/last/source?file={path}", 404)
        assert "secret" not in told.replace("secret.c", "") and str(path) in told
    assert "file" in server.refused("/data/last/source")


def test_below_a_directory(serve, recording, built, tmp_path):  # noqa: F811
    """The longest end of the path that is there, and nothing outside."""
    moved = tmp_path / "moved"
    (moved / "app").mkdir(parents=True)
    (moved / "kept.c").write_text("the shorter")
    server = serve(f"--sources={moved}", recording)
    assert ask(server, built)["lines"] == ["the shorter"]
    (moved / "app" / "kept.c").write_text("the longer\n")
    answer = ask(server, built)
    assert answer["lines"] == ["the longer"] and answer["path"] == f"{moved}/app/kept.c"
    outside = tmp_path / "outside.c"
    outside.write_text("secret")
    (moved / "app" / "kept.c").unlink()
    (moved / "app" / "kept.c").symlink_to(outside)
    assert ask(server, built)["lines"] == ["the shorter"]
    (moved / "kept.c").unlink()
    assert str(moved) in server.refused(f"/data/last/source?file={built}", 404)
    (moved / "app" / "kept.c").unlink()
    (moved / "app" / "kept.c").symlink_to(moved / "within.c")
    (moved / "within.c").write_text("within")
    assert ask(server, built)["lines"] == ["within"]


def claimed(recording, to):
    """The same recording, as it is when somebody has sent it."""
    data = bytearray(recording.read_bytes())
    data[73] |= 1
    to.write_bytes(data)
    return to


def test_of_somebody_else(serve, tool, recording, built, tmp_path):  # noqa: F811
    """A recording that was received may name any file: it gets those below a directory that the user names."""
    sent = claimed(recording, tmp_path / "sent.mallow")
    server = serve("--sources", sent)
    assert "--sources=DIR" in server.refused(f"/data/last/source?file={built}", 403)
    assert server.json("/data/last/summary")["sources"] is False
    assert ask(serve(f"--sources={built.parent}", sent), built)["path"] == str(built)
    run = tool("export", "--to", "html", "--sources", "-o", tmp_path / "page.html", sent, check=False)
    assert run.returncode == 1 and "--sources=DIR" in run.stderr and not (tmp_path / "page.html").exists()
    assert "claimed" in tool("info", sent).stdout and "claimed" not in tool("info", recording).stdout


def test_links_are_not_followed(serve, recording, built, tmp_path):  # noqa: F811
    """The path that debug information has may have become a link to something else."""
    moved = built.parent.rename(tmp_path / "moved")
    built.parent.symlink_to(moved)
    try:
        server = serve("--sources", recording)
        server.refused(f"/data/last/source?file={built}", 404)
        assert ask(serve(f"--sources={moved}", recording), built)["path"] == str(moved / built.name)
    finally:
        built.parent.unlink()
        moved.rename(built.parent)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_with_the_owners_rights(serve, recording, built, tmp_path):  # noqa: F811
    """Root shows of another user's recording what that user may read."""
    theirs = tmp_path / "theirs.mallow"
    shutil.copy(recording, theirs)
    os.chown(theirs, 65534, 65534)
    mode = built.stat().st_mode
    folders = [path for path in built.parents if path.stat().st_mode & 0o077 == 0 and path != path.parent]
    try:
        for path in folders:
            path.chmod(0o711)
        server = serve("--sources", theirs)
        assert ask(server, built)["lines"]
        built.chmod(0o600)
        server.refused(f"/data/last/source?file={built}", 404)
        assert ask(serve("--sources", recording), built)["lines"]
    finally:
        built.chmod(mode)
        for path in folders:
            path.chmod(0o700)


@pytest.mark.parametrize("kind", ["fifo", "directory", "large", "empty", "no_end"])
def test_odd_files(serve, recording, built, tmp_path, kind):  # noqa: F811
    there = tmp_path / "kept.c"
    if kind == "fifo":
        os.mkfifo(there)
    elif kind == "directory":
        there.mkdir()
    elif kind == "large":
        with there.open("wb") as file:
            file.truncate(9 << 20)
    else:
        there.write_text("" if kind == "empty" else "a\n\nb")
    server = serve(f"--sources={tmp_path}", recording)
    target = f"/data/last/source?file={built}"
    if kind in ("fifo", "directory"):
        server.refused(target, 404)
    elif kind == "large":
        assert "at most" in server.refused(target, 400)
    else:
        assert ask(server, built)["lines"] == ([] if kind == "empty" else ["a", "", "b"])


def without_stacks(value):
    """Numbers of frames and stacks are each answer's own."""
    if isinstance(value, dict):
        return {key: without_stacks(item) for key, item in value.items()
                if not key.endswith("stack") and key not in ("frames", "stacks")}
    return [without_stacks(item) for item in value] if isinstance(value, list) else value


def test_errors_and_pools(serve, tool, record, compile_sample):  # noqa: F811
    """What the reports have."""
    for sample, view in (("wrong_frees", "errors"), ("pools", "pools")):
        path = record([compile_sample(sample)], check=False).path
        answer = json.loads(serve(path).text(f"/data/last/{view}"))
        report = json.loads(tool("report", f"--{view}", "--json", "--top", "0", path).stdout)
        assert without_stacks(answer) == without_stacks(report)
        assert answer["error_count" if view == "errors" else "pool_count"] > 0


def test_errors_are_found_once(serve, record, compile_sample):  # noqa: F811
    """The second answer needs no recording any more."""
    path = record([compile_sample("wrong_frees")], check=False).path
    server = serve(path)
    first = server.text("/data/last/errors")
    path.unlink()
    assert server.text("/data/last/errors") == first
