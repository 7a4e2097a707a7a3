#!/usr/bin/python3
"""What the events of a recording add up to, computed a second way, by mallow_reader.py.

    mallow_sums.py FILE [--json] [--events]

The sums must be equal to those of `mallow report --json`. Section numbers are those of
docs/trace-format.md.
"""
import argparse
import collections
import json
import sys

from mallow_reader import (ENTRIES, POOL_ALLOC, POOL_NAME, POOL_RESET, Alloc, Free, NotARecording,
                           read)


class Site:
    """The sums of one stack."""
    __slots__ = ("calls", "total_bytes", "live_bytes", "live_blocks", "own_peak_bytes", "temporary",
                 "peak_bytes")

    def __init__(self):
        for field in self.__slots__:
            setattr(self, field, 0)


IMPLICIT = 0  # the operation of a free that no record tells of


def in_order(recording):
    """Section 8: the events by time, a late free moved to where its address was given out again,
    and a Free with operation IMPLICIT before an allocation whose address was never freed."""
    late = late_frees(recording)
    if not late:
        return recording.events
    moved = set(late.values())
    events = []
    for index, event in enumerate(recording.events):
        if index in late and late[index] is None:
            events.append(Free(event.time, IMPLICIT, event.address, event.node, event.thread))
        elif index in late:
            events.append(recording.events[late[index]])
        if index not in moved:
            events.append(event)
    return events


def late_frees(recording):
    """{index of an allocation whose address was live: that of the late free of it, or None}"""
    late, live = {}, set()
    waiting = {}  # address -> allocations without one, oldest first
    for index, event in enumerate(recording.events):
        address = event.address
        if type(event) is Alloc:
            if address in live:
                late[index] = None
                waiting.setdefault(address, []).append(index)
            live.add(address)
            continue
        for given in waiting.get(address, ()):
            allocation = recording.events[given]
            if event.thread != allocation.thread and \
                    event.time <= allocation.time + recording.late_ticks:
                late[given] = index
                waiting[address].remove(given)
                break
        else:
            live.discard(address)
    return late


class Sums:
    """Who allocated how much: what `mallow report --json` says, computed a second way."""

    def __init__(self, recording):
        self.recording = recording
        self.calls = self.total_bytes = self.frees = self.reallocs = self.temporary = 0
        self.unknown_frees = self.implicit_frees = 0
        self.live_bytes = self.peak_bytes = self.peak_ticks = 0
        self.live = {}  # address -> (size, site, allocating stream, number of the allocation)
        self.sites = {}
        self._site_of_node = {}
        self._last = {}  # stream -> number of its latest allocation
        self.counts_temporary = not recording.header.cull_ns
        events = in_order(recording)
        peak_index = self._run(events)
        for sums in recording.culled:
            site = self.site(sums.node)
            for ours in (self, site):
                ours.calls += sums.calls
                ours.total_bytes += sums.bytes
                ours.temporary += sums.temporary
        self.leaked_blocks = len(self.live)
        self.leaked_bytes = self.live_bytes
        self._share_peak(events[:peak_index + 1])

    def site(self, node):
        site = self._site_of_node.get(node)
        if site is None:
            key = tuple(self.recording.stack(node))
            site = self.sites.get(key)
            if site is None:
                site = self.sites[key] = Site()
            self._site_of_node[node] = site
        return site

    def _free(self, event):
        block = self.live.pop(event.address, None)
        if block is None:
            self.unknown_frees += 1
            return
        size, site, stream, number = block
        site.live_bytes -= size
        site.live_blocks -= 1
        self.live_bytes -= size
        if event.op == IMPLICIT:
            self.implicit_frees += 1
        else:
            self.frees += 1
        if self.counts_temporary and self._last.get(stream) == number:
            site.temporary += 1
            self.temporary += 1

    def _allocate(self, event):
        self.calls += 1
        if event.old is not None:
            self.reallocs += 1
        size = event.size
        site = self.site(event.node)
        site.calls += 1
        site.total_bytes += size
        site.live_bytes += size
        site.live_blocks += 1
        if site.live_bytes > site.own_peak_bytes:
            site.own_peak_bytes = site.live_bytes
        self.live[event.address] = (size, site, event.thread, self.calls)
        self._last[event.thread] = self.calls
        self.total_bytes += size
        self.live_bytes += size

    def _run(self, events):
        """Returns the index of the event that made the peak, -1 without any."""
        peak_index = -1
        for index, event in enumerate(events):
            if type(event) is Free:
                self._free(event)
                continue
            self._allocate(event)
            if self.live_bytes > self.peak_bytes:
                self.peak_bytes = self.live_bytes
                self.peak_ticks = event.time
                peak_index = index
        return peak_index

    def _share_peak(self, events):
        """Each site's share of the peak: what is live after these events."""
        live = {}
        for event in events:
            if type(event) is Free:
                live.pop(event.address, None)
            else:
                live[event.address] = event
        for event in live.values():
            self.site(event.node).peak_bytes += event.size

    def by_stack(self):
        """{((pc, module id) innermost first, …): Site}"""
        return self.sites

    def json(self):
        recording = self.recording
        sites = [{
            "stack": [{"address": pc, "module": recording.modules.get(module, {}).get("path")}
                      for pc, module in stack],
            "calls": site.calls, "total_bytes": site.total_bytes, "peak_bytes": site.peak_bytes,
            "own_peak_bytes": site.own_peak_bytes, "leaked_bytes": site.live_bytes,
            "leaked_blocks": site.live_blocks, "temporary": site.temporary,
        } for stack, site in self.sites.items()]
        sites.sort(key=lambda site: -site["peak_bytes"])
        header = recording.header
        return {
            "id": header.id, "parent_id": header.parent_id, "pid": header.pid,
            "ended": header.ended, "lost": header.lost, "losses": header.losses,
            "missing_chunks": recording.missing,
            "damaged": [list(damage) for damage in recording.damages],
            "threads": [{"stream": s.number, "tid": s.tid, "name": s.name}
                        for s in recording.threads.values()],
            "calls": self.calls, "total_bytes": self.total_bytes, "frees": self.frees,
            "reallocs": self.reallocs, "unknown_frees": self.unknown_frees,
            "implicit_frees": self.implicit_frees, "temporary": self.temporary,
            "peak_bytes": self.peak_bytes, "peak_time_s": recording.seconds(self.peak_ticks)
            if self.peak_bytes else 0, "leaked_bytes": self.leaked_bytes,
            "leaked_blocks": self.leaked_blocks, "duration_s": recording.seconds(recording.end_ticks),
            "sites": sites}


class Pool:
    """What the addresses of one name hold, or one address without a name."""

    def __init__(self, name, address):
        self.name, self.address, self.places = name, address, 0
        self.calls = self.total_bytes = self.live_bytes = self.live_blocks = self.temporary = 0
        self.peak_bytes = self.peak_blocks = self.peak_ticks = 0
        self.frees = self.resets = self.implicit_frees = self.wrong_frees = 0
        self.sites = {}

    def born(self, size, stack, time):
        self.calls += 1
        self.total_bytes += size
        self.live_bytes += size
        self.live_blocks += 1
        site = self.sites.setdefault(stack, Site())
        site.calls += 1
        site.total_bytes += size
        site.live_bytes += size
        site.live_blocks += 1
        site.own_peak_bytes = max(site.own_peak_bytes, site.live_bytes)
        if self.live_bytes > self.peak_bytes:
            self.peak_bytes, self.peak_blocks, self.peak_ticks = \
                self.live_bytes, self.live_blocks, time
            for each in self.sites.values():
                each.peak_bytes = each.live_bytes

    def died(self, size, stack, temporary):
        site = self.sites[stack]
        for sums in (self, site):
            sums.live_bytes -= size
            sums.live_blocks -= 1
            sums.temporary += temporary


class Pools:
    """What the program's own pools hold: `mallow report --pools --json`, a second way."""

    def __init__(self, recording):
        self.recording = recording
        self.pools = []
        self._named = {}
        self._pool_at = {}  # address of a pool -> Pool
        self._live = collections.defaultdict(dict)  # the same -> {block: what is known of it}
        self._turns = collections.Counter()  # stream -> blocks that it was handed out
        self.live_bytes = self.peak_bytes = 0
        for event in recording.pool_events:
            self._take(event)

    def _new(self, name, address):
        self.pools.append(Pool(name, address))
        return self.pools[-1]

    def _take(self, event):
        if event.kind == POOL_NAME:
            if not event.name:
                return
            pool = self._named.get(event.name)
            if pool is None:
                pool = self._named[event.name] = self._new(event.name, event.pool)
            pool.places += self._pool_at.get(event.pool) is not pool
            self._pool_at[event.pool] = pool
            return
        if event.pool not in self._pool_at:
            self._pool_at[event.pool] = self._new("", event.pool)
            self._pool_at[event.pool].places = 1
        pool, live = self._pool_at[event.pool], self._live[event.pool]
        if event.kind == POOL_ALLOC:
            self._allocate(event, pool, live)
        elif event.kind == POOL_RESET:
            pool.resets += 1
            for block in list(live):
                self._end(live, block, False)
        elif event.address in live:
            self._end(live, event.address, True).frees += 1
        else:
            pool.wrong_frees += 1

    def _allocate(self, event, pool, live):
        if event.address in live:
            self._end(live, event.address, False).implicit_frees += 1
        self._turns[event.thread] += 1
        stack = tuple(self.recording.stack(event.node))
        live[event.address] = pool, event.size, stack, event.thread, self._turns[event.thread]
        pool.born(event.size, stack, event.time)
        self.live_bytes += event.size
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)

    def _end(self, live, block, singly):
        pool, size, stack, stream, turn = live.pop(block)
        pool.died(size, stack, singly and self._turns[stream] == turn)
        self.live_bytes -= size
        return pool


def print_events(recording, out):
    """One event a line, in the order of time."""
    for event in recording.events:
        seconds = recording.seconds(event.time)
        stack = " ".join(f"{pc:x}" for pc, _ in recording.stack(event.node))
        if isinstance(event, Free):
            print(f"{seconds:.9f} {event.thread} {ENTRIES[event.op]} {event.address:#x} [{stack}]",
                  file=out)
        else:
            old = f" of {event.old:#x}" if event.old is not None else ""
            print(f"{seconds:.9f} {event.thread} {ENTRIES[event.op]}({event.size}){old} = "
                  f"{event.address:#x} usable {event.usable} flags {event.flags} [{stack}]", file=out)
    for fact in recording.facts:
        print(f'{recording.seconds(fact["time"]):.9f} {fact}', file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--json", action="store_true", help="everything, with all sites")
    parser.add_argument("--events", action="store_true", help="one event a line")
    arguments = parser.parse_args()
    try:
        recording = read(arguments.file)
    except (NotARecording, OSError) as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return 1
    if arguments.events:
        print_events(recording, sys.stdout)
        return 0
    sums = Sums(recording).json()
    if arguments.json:
        json.dump(sums, sys.stdout, indent=1)
        print()
        return 0
    for key, value in sums.items():
        if key != "sites":
            print(f"{key}: {value}")
    print("sites:", len(sums["sites"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
