"""
An independent reader of the names that a finished recording carries, from docs/trace-format.md
alone ("Symbols"). symbols_of(path) gives {(path or None, build id): {address: Position}}, and
notes_of(path) {path: why its names are missing}.
"""
import collections

import mallow_reader

Position = collections.namedtuple("Position", "offset functions")
Function = collections.namedtuple("Function", "name file line inlined")
NOTE = 2**64 - 1


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value, self.at = mallow_reader.varint(self.data, self.at)
        return value

    def take(self, size):
        taken = self.data[self.at:self.at + size]
        assert len(taken) == size, "the symbols end within a field"
        self.at += size
        return taken


def payload_of(data, kind=mallow_reader.SYMBOLS):
    """The payload of the last chunk of a kind, decompressed; None where there is none."""
    found = None
    for chunk in mallow_reader.Recording._walk(data):
        if chunk.kind == kind and not chunk.damage:
            found = chunk.payload(data)
    if found is None:
        return None
    assert found[0] in (0, 1)
    return mallow_reader.unzstd(found[1:]) if found[0] else found[1:]


def parse(payload):
    source = Bytes(payload)
    assert source.number() == 1, "version"
    count, size = source.number(), source.number()
    table = source.take(size)
    strings = [None, *(text.decode(errors="surrogateescape") for text in table.split(b"\0")[:-1])]
    assert len(strings) == count + 1 and table.endswith(b"\0")
    modules = {}
    for _ in range(source.number()):
        kind, path = source.number(), strings[source.number()]
        build_id = source.take(source.number()).hex()
        assert kind in (0, 1) and (path is None) == (kind == 0)
        positions, address = {}, 0
        for index in range(source.number()):
            step = source.number()
            assert step or not index
            address += step
            offset = source.number()
            functions = []
            for _ in range(source.number()):
                name, file = strings[source.number()], source.number()
                line = source.number() if file >> 1 else 0
                functions.append(Function(name, strings[file >> 1], line, bool(file & 1)))
            assert functions
            positions[address] = Position(offset, functions)
        assert (path, build_id) not in modules
        modules[path, build_id] = positions
    assert source.at == len(payload), "bytes behind the end"
    return modules


def symbols_of(path):
    payload = payload_of(path.read_bytes())
    if payload is None:
        return None
    return {module: {address: position for address, position in positions.items() if address != NOTE}
            for module, positions in parse(payload).items()}


def notes_of(path):
    notes = {}
    for (module, _), positions in parse(payload_of(path.read_bytes())).items():
        if NOTE in positions:
            (note,) = positions[NOTE].functions
            assert module and not (positions[NOTE].offset or note.file or note.inlined)
            notes[module] = note.name
    return notes
