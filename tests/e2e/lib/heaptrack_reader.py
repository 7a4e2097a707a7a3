"""heaptrack's data file, version 3 of the interpreted dialect, read as its own tools read it: one of
mallow, or one of heaptrack itself.

What their readers take without complaint, but show wrong or crash at, is an error here.
"""
import collections
import gzip
import subprocess


class Sums:
    """What heaptrack makes of the lines of events; all that is only shown rounded there."""

    def __init__(self, text):
        self.strings, self.positions, self.stacks, self.kinds = [None], [None], [None], []
        self.version = self.command = self.page = None
        self.attached = False
        self.comments, self.resident, self.milliseconds = [], [], 0
        self.calls = self.temporary = self.live = self.peak = self.total = 0
        self.peak_ms = 0
        # {stack: [calls, bytes, live bytes, temporary, live blocks]}
        self.rows = collections.defaultdict(lambda: [0] * 5)
        self._since_peak = []  # (kind, 1 or -1) of each event since
        self._last = 0  # as the reader: of an allocation, 0 after a free
        self._met = 0  # kinds that something was allocated by
        lines = text.split("\n")
        assert lines.pop() == ""
        for number, line in enumerate(lines):
            assert (number == 0) == line.startswith("v ")
            if line:
                self._take(line)

    def _take(self, line):
        kind, rest = line[0], line[2:]
        if kind == "s":
            length, _, string = rest.partition(" ")
            assert len(string.encode()) == int(length, 16)
            assert string not in self.strings
            self.strings.append(string)
        elif kind == "X":
            assert self.command is None
            self.command = rest
        elif kind == "#":
            self.comments.append(rest)
        else:
            getattr(self, "_" + {"+": "plus", "-": "minus"}.get(kind, kind))(
                *[int(field, 16) for field in rest.split(" ") if field])

    def _v(self, heaptrack, file):
        self.version = file

    def _I(self, page, pages):
        self.page = page

    def _A(self):
        assert not self.calls
        self.attached = True

    def _i(self, address, module, *lines):
        names = []
        for i in range(0, len(lines), 3):
            function, file, line = (*lines[i:i + 3], 0, 0)[:3]
            names.append((self.strings[function], self.strings[file], line))
        self.positions.append((address, self.strings[module], names))

    def _t(self, position, caller):
        stack = tuple((*name, self.positions[position][1], self.positions[position][0])
                      for name in self.positions[position][2])
        self.stacks.append(stack + (self.stacks[caller] if caller else ()))

    def _a(self, size, stack):
        assert self.stacks[stack]
        self.kinds.append((size, self.stacks[stack]))

    def _c(self, milliseconds):
        assert milliseconds >= self.milliseconds
        self.milliseconds = milliseconds

    def _R(self, pages):
        self.resident.append((self.milliseconds, pages * self.page))

    def _plus(self, kind):
        assert kind <= self._met, "heaptrack_gui crashes"
        self._met += kind == self._met
        size, stack = self.kinds[kind]
        row = self.rows[stack]
        row[0] += 1
        row[1] += size
        row[2] += size
        row[4] += 1
        self.calls += 1
        self.total += size
        self.live += size
        self._last = kind
        if self.live > self.peak:
            self.peak, self.peak_ms, self._since_peak = self.live, self.milliseconds, []
        else:
            self._since_peak.append((kind, 1))

    def _minus(self, kind):
        size, stack = self.kinds[kind]
        row = self.rows[stack]
        row[2] -= size
        assert row[2] >= 0
        self.live -= size
        temporary = self._last == kind
        row[3] += temporary
        self.temporary += temporary
        self._last = 0
        row[4] -= kind < self._met or size > 0  # else it is a kind that never was a block
        self._since_peak.append((kind, -1))

    def peak_of(self):
        """{stack: its bytes at the peak}: what is live now, without what came since."""
        peak = {stack: row[2] for stack, row in self.rows.items()}
        for kind, sign in self._since_peak:
            size, stack = self.kinds[kind]
            peak[stack] -= sign * size
        return peak


def read(path):
    if path.suffix == ".gz":
        return Sums(gzip.decompress(path.read_bytes()).decode())
    if path.suffix == ".zst":
        return Sums(subprocess.run(["zstdcat", path], capture_output=True,
                                   check=True).stdout.decode())
    return Sums(path.read_text(encoding="utf-8"))
