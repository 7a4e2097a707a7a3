"""Turns text files into C strings: embed.py OUTPUT FILE...; a/b.js becomes `b_js`."""
import pathlib
import sys

output, *files = sys.argv[1:]
with open(output, "w", encoding="utf-8") as out:
    for name in map(pathlib.Path, files):
        out.write(f"static const char {name.name.replace('.', '_')}[] =\n")
        for line in name.read_text(encoding="utf-8").splitlines():
            escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
            out.write(f'\t"{escaped}\\n"\n')
        out.write(";\n")
