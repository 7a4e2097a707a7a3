"""Turns files into arrays of C: embed.py OUTPUT FILE...; a/b.js becomes `page_b_js`."""
import pathlib
import sys

output, *files = sys.argv[1:]
with open(output, "w", encoding="ascii") as out:
    if len(files) > 1:
        out.write("#define PAGE_IS_WHOLE 1\n")
    for name in map(pathlib.Path, files):
        data = name.read_bytes()
        out.write(f"static const unsigned char page_{name.name.replace('.', '_')}[] = {{\n")
        for at in range(0, len(data), 32):
            out.write(",".join(map(str, data[at:at + 32])) + ",\n")
        out.write("};\n")
