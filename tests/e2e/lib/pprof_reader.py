"""Profiles of pprof, decoded from the encoding of protocol buffers and profile.proto alone."""
import gzip

# {message: {field: (name, kind)}}; a kind that is a message's name is one. "*": a list.
SCHEMA = {
    "Profile": {1: ("sample_type", "*ValueType"), 2: ("sample", "*Sample"),
                3: ("mapping", "*Mapping"), 4: ("location", "*Location"),
                5: ("function", "*Function"), 6: ("string_table", "*string"),
                7: ("drop_frames", "int64"), 8: ("keep_frames", "int64"),
                9: ("time_nanos", "int64"), 10: ("duration_nanos", "int64"),
                11: ("period_type", "ValueType"), 12: ("period", "int64"),
                13: ("comment", "*int64"), 14: ("default_sample_type", "int64")},
    "ValueType": {1: ("type", "int64"), 2: ("unit", "int64")},
    "Sample": {1: ("location_id", "*uint64"), 2: ("value", "*int64"), 3: ("label", "*Label")},
    "Label": {1: ("key", "int64"), 2: ("str", "int64"), 3: ("num", "int64"),
              4: ("num_unit", "int64")},
    "Mapping": {1: ("id", "uint64"), 2: ("memory_start", "uint64"), 3: ("memory_limit", "uint64"),
                4: ("file_offset", "uint64"), 5: ("filename", "int64"), 6: ("build_id", "int64"),
                7: ("has_functions", "bool"), 8: ("has_filenames", "bool"),
                9: ("has_line_numbers", "bool"), 10: ("has_inline_frames", "bool")},
    "Location": {1: ("id", "uint64"), 2: ("mapping_id", "uint64"), 3: ("address", "uint64"),
                 4: ("line", "*Line"), 5: ("is_folded", "bool")},
    "Line": {1: ("function_id", "uint64"), 2: ("line", "int64"), 3: ("column", "int64")},
    "Function": {1: ("id", "uint64"), 2: ("name", "int64"), 3: ("system_name", "int64"),
                 4: ("filename", "int64"), 5: ("start_line", "int64")},
}


def proto_source():
    """The same for protoc."""
    lines = ['syntax = "proto3";', "package perftools.profiles;"]
    for message, fields in SCHEMA.items():
        lines.append(f"message {message} {{")
        for number, (name, kind) in fields.items():
            lines.append(f"  {'repeated ' if kind[0] == '*' else ''}{kind.lstrip('*')} "
                         f"{name} = {number};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            assert value < 1 << 64
            return value, at
        shift += 7


def number(kind, value):
    if kind == "int64":
        return value - (value >> 63 << 64)
    return bool(value) if kind == "bool" else value


class Message:
    def __init__(self, message, data):
        self.fields = SCHEMA[message]
        for name, kind in self.fields.values():
            setattr(self, name, [] if kind[0] == "*" else None if kind in SCHEMA else 0)
        at = 0
        while at < len(data):
            tag, at = varint(data, at)
            name, kind = self.fields[tag >> 3]
            if tag & 7 == 0:
                value, at = varint(data, at)
                assert kind[0] != "*", "lists of numbers are packed"
                setattr(self, name, number(kind, value))
                continue
            assert tag & 7 == 2
            size, at = varint(data, at)
            assert at + size <= len(data)
            self._take(name, kind, data[at:at + size])
            at += size

    def _take(self, name, kind, data):
        single = kind.lstrip("*")
        if single in SCHEMA:
            value = Message(single, data)
        elif single == "string":
            value = data.decode("utf-8")
        else:
            at, value = 0, []
            while at < len(data):
                each, at = varint(data, at)
                value.append(number(single, each))
            setattr(self, name, getattr(self, name) + value)
            return
        if kind[0] == "*":
            getattr(self, name).append(value)
        else:
            setattr(self, name, value)


class Profile:
    """The profile with its references resolved; whatever they name must be there, once."""

    def __init__(self, data):
        plain = gzip.decompress(data)
        profile = self.raw = Message("Profile", plain)
        self.assert_stores_take_it(len(plain))
        self.strings = profile.string_table
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        text = self.strings.__getitem__
        self.types = [(text(t.type), text(t.unit)) for t in profile.sample_type]
        self.default = text(profile.default_sample_type)
        self.period_type = text(profile.period_type.type), text(profile.period_type.unit)
        self.period = profile.period
        self.comments = [text(comment) for comment in profile.comment]
        mappings, functions, locations = (self.by_id(list_) for list_ in (
            profile.mapping, profile.function, profile.location))
        self.mappings = [(text(m.filename), text(m.build_id), m.memory_start, m.memory_limit)
                         for m in profile.mapping]
        self.samples = []
        self.locations = {}
        for id_, location in locations.items():
            mapping = mappings[location.mapping_id] if location.mapping_id else None
            assert not mapping or mapping.memory_start <= location.address < mapping.memory_limit
            lines = []
            for line in location.line:
                function = functions[line.function_id]
                lines.append((text(function.name), text(function.filename) or None, line.line,
                              text(function.system_name)))
            assert not mapping or not lines or mapping.has_functions
            self.locations[id_] = (location.address, mapping and text(mapping.filename), lines)
        for sample in profile.sample:
            assert len(sample.value) == len(self.types)
            self.samples.append(([self.locations[id_] for id_ in sample.location_id],
                                 dict(zip((name for name, _ in self.types), sample.value))))

    def assert_stores_take_it(self, size):
        """What Parca refuses (ValidatePprofProfile() of its normalizer), and Pyroscope by its default limits."""
        profile = self.raw
        for table in profile.mapping, profile.location, profile.function:
            assert [message.id for message in table] == list(range(1, len(table) + 1))
        assert all(0 <= location.mapping_id <= len(profile.mapping) for location in profile.location)
        assert all(0 < line.function_id <= len(profile.function)
                   for location in profile.location for line in location.line)
        assert all(0 < id_ <= len(profile.location) for sample in profile.sample for id_ in sample.location_id)
        assert all(len(sample.value) == len(profile.sample_type) for sample in profile.sample)
        assert profile.string_table[0] == ""
        texts = [profile.default_sample_type, *profile.comment, *(
            getattr(message, name) for table, names in (
                (profile.sample_type + [profile.period_type], ("type", "unit")),
                (profile.mapping, ("filename", "build_id")), (profile.function, ("name", "system_name", "filename")))
            for message in table for name in names)]
        assert all(0 <= number < len(profile.string_table) for number in texts)
        assert len(profile.sample) <= 16_000 and size <= 4 << 20

    @staticmethod
    def by_id(messages):
        by_id = {message.id: message for message in messages}
        assert len(by_id) == len(messages) and 0 not in by_id
        return by_id

    def sum(self, name):
        return sum(values[name] for _, values in self.samples)


def read(path):
    return Profile(path.read_bytes())
