#!/usr/bin/python3
"""Makes the Python wheel: wheel.py BUNDLE VERSION MACHINE FOLDER. SOURCE_DATE_EPOCH: the time of its files.

It has what the tarball has (bundle.py), by folder: bin/mallow is a script, all else goes below the prefix of the
environment that it is installed into, where the launcher finds it as in the tarball. And the modules of python/.
The format: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""
import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]
# What the system's loader sees of it, the launcher and libmallow.so, needs no library: any C library will do.
# What needs glibc 2.36 has it beside it (docs/adr/0039-bundle.md).
PLATFORMS = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"


def metadata(version):
    return (f"Metadata-Version: 2.1\nName: mallow\nVersion: {version}\n"
            "Summary: Heap profiler for Linux: where the memory of a program goes, without recompiling it\n"
            "License: MIT OR Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
            + (TOP / "python/README.md").read_text())


def contents(bundle, version, tags):
    """(path in the wheel, bytes, mode) of each file."""
    data, info = f"mallow-{version}.data", f"mallow-{version}.dist-info"
    for path in "mallow/__init__.py", "mallow/py.typed", "pytest_mallow.py":
        yield path, (TOP / "python" / path).read_bytes(), 0o644
    for path in sorted(bundle.rglob("*")):
        place = path.relative_to(bundle)
        if path.is_file():
            at = f"{data}/scripts/{place.name}" if place.parts[0] == "bin" else f"{data}/data/{place}"
            content = path.read_bytes()
            if path.is_symlink():  # a wheel has none: a second library, a folder nearer to its tool
                content = content.replace(b"../../bin/mallow\0\0\0", b"../bin/mallow\0\0\0\0\0\0")
            yield at, content, path.stat().st_mode & 0o777
    yield f"{info}/METADATA", metadata(version).encode(), 0o644
    yield f"{info}/entry_points.txt", b"[pytest11]\nmallow = pytest_mallow\n", 0o644
    wheel = "Wheel-Version: 1.0\nGenerator: mallow\nRoot-Is-Purelib: false\n"
    yield f"{info}/WHEEL", (wheel + "".join(f"Tag: {tag}\n" for tag in tags)).encode(), 0o644


def main():
    bundle, version, machine, folder = sys.argv[1:]
    platforms = PLATFORMS.format(machine)
    name = f"mallow-{version}-py3-none-{platforms}.whl"
    date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    record = []
    with zipfile.ZipFile(pathlib.Path(folder, name), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def put(path, content, mode):
            entry = zipfile.ZipInfo(path, date)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)

        for path, content, mode in contents(pathlib.Path(bundle), version, [f"py3-none-{p}" for p in platforms.split(".")]):
            put(path, content, mode)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}\n")
        path = f"mallow-{version}.dist-info/RECORD"
        put(path, "".join(record + [f"{path},,\n"]).encode(), 0o644)
    print(f"wrote {folder}/{name}")


if __name__ == "__main__":
    main()
