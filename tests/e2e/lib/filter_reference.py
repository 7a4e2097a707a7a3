"""The filter of docs/filter.md a second time: slow, obvious, on the events of mallow_reader.py.

    blocks = Blocks(recording, frames_of)
    blocks.matching({"size_min": "1K", "lifetime": "only_leaked"})     numbers of blocks
    blocks.report(numbers)                                             what they come to
"""
import collections
import fractions
import re

import mallow_sums
from mallow_reader import GLIBC, POOL_ALLOC, POOL_NAME, REALLOC, REALLOCARRAY, Free

UNITS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def interval(text):
    text = re.sub(r"[ \t]", "", text).lower()
    if not re.fullmatch(r"(\d+(h|m|s|ms|us|ns))*(\d+)?", text) or not text:
        raise ValueError(text)
    return sum(int(number) * UNITS[unit or "s"]
               for number, unit in re.findall(r"(\d+)([a-z]*)", text))


def percent(text):
    """As a fraction of the whole; None: no percentage."""
    match = re.fullmatch(r"(\d+(\.\d+)?)%", text)
    return fractions.Fraction(match[1]) / 100 if match else None


def number(text):
    return int(text, 16 if text[:2] in ("0x", "0X") else 10)


def size(text):
    match = re.fullmatch(r"(\d+)([kmg]?)", text.lower())
    return int(match[1]) * SIZES[match[2]]


# By operation, as docs/trace-format.md calls them.
ENTRIES = ["", "malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc",
           "memalign", "valloc", "pvalloc", "operator new", "operator new[]",
           "operator new(nothrow)", "operator new[](nothrow)", "operator new(aligned)",
           "operator new[](aligned)", "operator new(aligned, nothrow)",
           "operator new[](aligned, nothrow)", "realloc", "reallocarray"]


def like(pattern, name):
    """Whether a name matches a pattern of LeakSanitizer, of those that random_condition() makes."""
    words = re.escape(pattern).replace(r"\*", ".*").replace(r"\^", "^").replace(r"\$", "$")
    return bool(name and re.search(words, name))


class Block:
    """One allocation until its free."""

    def __init__(self, index, event, order, start, tid, thread):
        self.index, self.event, self.order = index, event, order
        self.time = event.time - start
        self.freed = self.freed_order = self.freed_by = self.freed_node = None
        self.temporary = False
        self.tid, self.thread = tid, thread
        self.before = self.after = None

    def lifetime(self):
        return None if self.freed is None else self.freed - self.time

    def chain(self):
        first = self
        while first.before:
            first = first.before
        chain = [first]
        while chain[-1].after:
            chain.append(chain[-1].after)
        return chain


class Blocks:
    """All blocks of a recording. Its clock is in nanoseconds."""

    def __init__(self, recording, frames_of):
        """frames_of: {pc: [(function or None, source or None)]}, innermost inlined one first."""
        self.recording, self.frames_of = recording, frames_of
        self.start = recording.header.ticks
        self.run = recording.end_ticks - self.start
        self.blocks = []
        self._walk(list(mallow_sums.in_order(recording)))
        self.births = [(event.address, event.time - self.start, name)
                       for event, name in self._births()]
        self.groups = collections.defaultdict(list)
        for block in self.blocks:
            self.groups[self.stack(block)].append(block)
        self.peak_time = self.sums(self.blocks)["peak_time"]

    def _walk(self, events):
        live, last = {}, {}
        replaced = collections.defaultdict(collections.deque)  # late frees come before others
        for order, event in enumerate(events):
            if isinstance(event, Free):
                block = live.pop(event.address, None)
                if event.op in (REALLOC, REALLOCARRAY):
                    replaced[event.thread, event.address].append(block)
                if block is None:
                    continue
                # A late free counts when its address was given out again.
                following = events[order + 1].time if order + 1 < len(events) else event.time
                block.freed = min(event.time, following) - self.start
                block.freed_order = order
                block.freed_node = event.node if self.recording.header.free_stacks else None
                if event.op != mallow_sums.IMPLICIT:
                    freeing = self.recording.threads[event.thread]
                    block.freed_by = (str(freeing.tid), freeing.name)
                block.temporary = last.get(block.event.thread) is block
                continue
            stream = self.recording.threads[event.thread]
            block = Block(len(self.blocks), event, order, self.start, stream.tid, stream.name)
            if event.op in (REALLOC, REALLOCARRAY) and event.old is not None:
                block.before = replaced[event.thread, event.old].popleft()
                if block.before:
                    block.before.after = block
            self.blocks.append(block)
            live[event.address] = last[event.thread] = block

    def usage_peak(self, group):
        """When its blocks had most usable bytes live, the first time."""
        moves = [(block.order, block.event.usable, block.time) for block in group]
        moves += [(block.freed_order, -block.event.usable, None) for block in group if block.freed is not None]
        live, most, at = 0, -1, None
        for _, change, time in sorted(moves, key=lambda move: move[0]):
            live += change
            if time is not None and live > most:
                most, at = live, time
        return at

    def _mappings(self):
        """[(time made, first page, end page, {page: time gone})] by the calls of the program."""
        pages, mappings = {}, []
        for fact in sorted(self.recording.facts, key=lambda fact: fact["time"]):
            ranges = {"mmap": ("address", "length"), "munmap": ("address", "length"),
                      "mremap": ("old_address", "old_length")}.get(fact["kind"])
            if not ranges:
                continue
            time = fact["time"] - self.start
            for start, length, made in [(*(fact[name] for name in ranges), fact["kind"] == "mmap"),
                                        (fact["address"], fact["length"], True)][:2 if fact["kind"] == "mremap" else 1]:
                spans = range(start // 4096, -(-(start + length) // 4096))
                for page in spans:
                    if page in pages:
                        mappings[pages.pop(page)][3][page] = time
                if made and spans:
                    mappings.append((time, spans.start, spans.stop, {}))
                    pages.update(dict.fromkeys(spans, len(mappings) - 1))
        return mappings

    def _births(self):
        """(event, name of the pool) of all that pools handed out."""
        names = {}
        for event in self.recording.pool_events:
            if event.kind == POOL_NAME:
                names[event.pool] = event.name or names.get(event.pool)
            elif event.kind == POOL_ALLOC:
                yield event, names.get(event.pool) or hex(event.pool)

    def stack(self, block):
        return tuple(self.recording.stack(block.event.node))

    def frames(self, block):
        """[(pc, function, source, module)], innermost first, inlined ones too."""
        return [(pc, function, source, self.recording.modules[module]["path"] if module else None)
                for pc, module in self.stack(block)
                for function, source in self.frames_of.get(pc, [(None, None)])]

    def moment(self, text, last=False):
        """Nanoseconds since the start."""
        if text.isdigit():
            return (int(text) + last) * 10**9 - last - self.recording.header.realtime
        if percent(text) is not None:
            return int(percent(text) * self.run)
        if text == "peak":
            return self.peak_time
        if text == "end":
            return self.run
        if text[0].isdigit():
            return interval(text)
        return next(fact["time"] for fact in sorted(self.recording.facts, key=lambda f: f["time"])
                    if fact["kind"] == "mark" and fact["name"] == text) - self.start

    def matching(self, conditions):
        return [block.index for block in self.blocks
                if all(self.holds(block, name, text, conditions)
                       for name, text in conditions.items())]

    def holds(self, block, name, text, conditions):
        if name.endswith(("_min", "_max")):
            value, bound = self.measure(block, name[:-4], text, name.endswith("_max"))
            return value >= bound if name.endswith("_min") else value <= bound
        return getattr(self, "from_" if name == "from" else name)(block, text, conditions)

    def measure(self, block, name, text, last):
        """(what the block has, what was asked for)"""
        never = float("inf")
        group = self.groups[self.stack(block)]
        chain = block.chain()
        if name == "size":
            return block.event.size, size(text)
        if name == "slack":
            return block.event.usable - block.event.size, size(text)
        if name == "address":
            return block.event.address, number(text)
        if name == "lifetime":
            return never if block.freed is None else block.lifetime(), interval(text)
        if name == "backtrace_depth":
            return len(self.frames(block)), number(text)
        if name == "chain_length":
            return len(chain), number(text)
        if name == "position_in_chain":
            return chain.index(block), number(text)
        if name == "first_size":
            return chain[0].event.size, size(text)
        if name == "last_size":
            return chain[-1].event.size, size(text)
        if name == "chain_lifetime":
            return never if chain[-1].freed is None else chain[-1].freed - chain[0].time, \
                interval(text)
        if name == "group_max_total_usage_first_seen":
            return self.usage_peak(group), self.moment(text, last=last)
        if name == "group_allocations":
            return len(group), number(text)
        if name == "group_leaked_allocations":
            leaked = sum(member.freed is None for member in group)
            part = percent(text)
            return leaked, number(text) if part is None else part * len(group)
        assert name == "group_interval"
        part = percent(text)
        return max(member.time for member in group) - min(member.time for member in group), \
            interval(text) if part is None else part * self.run

    def from_(self, block, text, _):
        return block.time >= self.moment(text)

    def to(self, block, text, _):
        return block.time <= self.moment(text, last=True)

    until = to

    def freed_from(self, block, text, _):
        return block.freed is not None and block.freed >= self.moment(text)

    def freed_to(self, block, text, _):
        return block.freed is not None and block.freed <= self.moment(text, last=True)

    def alive_at(self, block, text, _):
        moment = self.moment(text)
        return block.time <= moment and (block.freed is None or block.freed > moment)

    alive_at_2 = alive_at

    def lifetime(self, block, text, conditions):
        ends = [self.moment(conditions[name], last=True) for name in ("to", "until")
                if name in conditions]
        in_range = block.freed is not None and (not ends or block.freed <= min(ends))
        return {
            "all": True,
            "only_leaked": block.freed is None,
            "only_not_deallocated_in_current_range": not in_range,
            "only_deallocated_in_current_range": in_range,
            "only_temporary": block.freed is not None,
            "only_whole_group_leaked":
                all(member.freed is None for member in self.groups[self.stack(block)]),
            "only_chain_leaked": block.chain()[-1].freed is None,
        }[text]

    def mmaped(self, block, text, _):
        return self.recording.header.allocator == GLIBC and \
            bool(block.event.flags & 1) == (text == "yes")

    def arena(self, block, text, _):
        return self.recording.header.allocator == GLIBC and \
            bool(block.event.flags & 2) == (text == "non_main")

    def jemalloc(self, block, text, _):
        serves = self.recording.header.allocator != GLIBC and any(
            module["path"].rpartition("/")[2].startswith("libjemalloc") for module in self.recording.modules.values())
        return serves == (text == "yes")

    def deallocation_backtraces(self, block, text, _):
        return block.freed_node == number(text)

    def from_map(self, block, text, _):
        """Within one mapping, of which the block's pages had not all been taken away together before."""
        mappings = self._mappings()
        if number(text) >= len(mappings):
            return False
        made, first, end, gone = mappings[number(text)]
        own = range(block.event.address // 4096, -(-(block.event.address + max(block.event.size, 1)) // 4096))
        if not any(first <= page < end for page in own) or block.time < made:
            return False
        if len(gone) == end - first and block.time >= max(gone.values()):
            return False
        times = {gone.get(page) for page in own}
        return len(times) > 1 or times == {None} or block.time < times.pop()

    def thread(self, block, text, _):
        return text in (str(block.tid), block.thread)

    def free_thread(self, block, text, _):
        return block.freed_by is not None and text in block.freed_by

    def temporary(self, block, text, _):
        return block.temporary == (text == "yes")

    def entry(self, block, text, _):
        return ENTRIES[block.event.op] == text

    def chain(self, block, text, _):
        return block.chain()[0].index == number(text)

    def suppress(self, block, text, _):
        patterns = [line.strip()[5:] for line in text.split("\n")]
        names = [name for _, function, source, module in self.frames(block)
                 for name in (function, source, module or "<unknown module>")]
        return block.freed is not None or not any(
            like(pattern, name) for pattern in patterns for name in names)

    def pool(self, block, text, _):
        first, end = block.event.address, block.event.address + block.event.usable
        return any(name == text and first <= address < end and block.time <= time and
                   (block.freed is None or time < block.freed)
                   for address, time, name in self.births)

    def tag(self, block, text, _):
        return block.event.tag == number(text)

    marker = tag

    def function_regex(self, block, _, conditions):
        """With source_regex and module_regex: one frame matches all of them."""
        patterns = [conditions.get(name) for name in
                    ("function_regex", "source_regex", "module_regex")]
        return any(all(pattern is None or (text is not None and re.search(pattern, text))
                       for pattern, text in zip(patterns, frame[1:]))
                   for frame in self.frames(block))

    source_regex = module_regex = function_regex

    def negative_function_regex(self, block, text, _):
        return not any(frame[1] is not None and re.search(text, frame[1])
                       for frame in self.frames(block))

    def negative_source_regex(self, block, text, _):
        return not any(frame[2] is not None and re.search(text, frame[2])
                       for frame in self.frames(block))

    def negative_module_regex(self, block, text, _):
        return not any(frame[3] is not None and re.search(text, frame[3])
                       for frame in self.frames(block))

    def allocated_by(self, block, text, _):
        """The innermost function that is no allocator's, else the innermost one with a name."""
        names = [frame[1] for frame in self.frames(block) if frame[1] is not None]
        own = [name for name in names if not name.startswith("_mi_")]
        return bool(names and re.search(text, (own or names)[0]))

    def sums(self, blocks):
        """calls … peak_blocks as in reports, and peak_live: what was live then."""
        moves = [(block.order, block, 1) for block in blocks]
        moves += [(block.freed_order, block, -1) for block in blocks if block.freed is not None]
        live, live_bytes = {}, 0
        sums = collections.Counter(peak_bytes=0, peak_blocks=0, peak_time=0)
        peak_live = []
        for _, block, sign in sorted(moves, key=lambda move: move[0]):
            live_bytes += sign * block.event.size
            if sign < 0:
                del live[block.index]
                continue
            live[block.index] = block
            if live_bytes > sums["peak_bytes"]:
                sums.update(peak_bytes=live_bytes - sums["peak_bytes"],
                            peak_blocks=len(live) - sums["peak_blocks"],
                            peak_time=block.time - sums["peak_time"])
                peak_live = list(live.values())
        sums.update(calls=len(blocks), total_bytes=sum(block.event.size for block in blocks),
                    leaked_blocks=len(live), leaked_bytes=live_bytes,
                    temporary=sum(block.temporary for block in blocks))
        sums["peak_live"] = peak_live
        return sums

    def report(self, numbers):
        """(sums, {addresses of the stack's lines: sums of a site}) as reports have them."""
        chosen = [self.blocks[index] for index in numbers]
        sums = self.sums(chosen)
        sites = collections.defaultdict(list)
        for block in chosen:
            sites[self.stack(block)].append(block)
        result = {}
        for blocks in sites.values():
            site = self.sums(blocks)
            site["own_peak_bytes"] = site["peak_bytes"]
            at_peak = [block for block in sums["peak_live"] if block in blocks]
            site["peak_bytes"] = sum(block.event.size for block in at_peak)
            site["peak_blocks"] = len(at_peak)
            result[tuple(pc - 1 if pc > 15 else pc for pc, *_ in self.frames(blocks[0]))] = site
        return sums, result
