#!/usr/bin/python3
"""Writes the seeds of fuzz_stream_receive into a folder: what a sender sends after its greeting."""
import pathlib
import struct
import sys


def message(kind, recording=0, content=b''):
    return struct.pack('<III', len(content), kind, recording) + content


def page(number, flags=0):
    header = bytearray(4096)
    struct.pack_into('<QHHI16s', header, 0, 0x0a1a0a0d574c4d89, 1, 8, 4096, bytes([number]) * 16)
    struct.pack_into('<IIQIBBBBII', header, 48, 4711, 1, 0, 62, 8, 1, 1, 0, flags, 0)
    return bytes(header)


def chunk(stream, role, records):
    committed = len(records)
    head = struct.pack('<QIIIIQQQQII', 0xa74b4843574c4dd1, 1, 4096, stream, role, committed, 1000,
                       5000000, 1000, 0, 0)
    return (head + records).ljust(4096, b'\0')


def module(path, build_id):
    content = bytes([1, 1, 0, 1, 8, len(build_id)]) + build_id + path
    return bytes([0x82, len(content)]) + content


def write(recording, offset, data):
    return message(2, recording, struct.pack('<Q', offset) + data)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    offer = message(1, 0, page(1) + b'server')
    slot = chunk(0, 1, module(b'/nowhere', bytes(range(20))))
    seeds = {
        'offer': offer,
        'whole': offer + write(0, 4096, slot) + write(0, 0, page(1)) + message(4)
                 + message(3, 0, struct.pack('<Q', 8192)),
        'names': b''.join(message(1, i, page(i + 1) + name) for i, name in enumerate(
            [b'', b'../../x', b'a/b\n', b'\xc3\xa4' * 60, b'..'])),
        'table': message(1, 0, page(1, 32) + b'table') + write(0, 4096, b'x' * 100)
                 + message(3, 0, struct.pack('<Q', 8192)),
        'files': offer + write(0, 4096, slot) + message(3, 0, struct.pack('<Q', 8192))
                 + message(5, 0, struct.pack('<IQ', 0, 0) + b'\x7fELF') + message(6, 0, bytes(5))
                 + message(6, 0, b'\1\0\0\0\1'),
        'twice': offer + message(3, 0, struct.pack('<Q', 4096)) + offer,
        'other': message(4) + message(99, 0, b'later') + message(21, 0, b'fault'),
        'far': offer + write(0, 1 << 40, b'x'),
    }
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


main()
