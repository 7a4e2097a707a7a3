"""/space a second time: slow, obvious, on the blocks of filter_reference.py, page by page.

    lanes = space_reference.lanes(made, moment)        all live blocks, {(kind, number): [Place]}
    space_reference.sums(places, matching)
    space_reference.cells(places, matching, 4096)
    space_reference.keepers(made, lanes, matching, by)
"""
import collections

from series_reference import key_of, live_at

PAGE = 4096
APART = 64 << 20


class Place:
    """The bytes of a block: [start, used) asked for, to end usable."""

    def __init__(self, block):
        self.block = block
        self.start = block.event.address
        self.used = self.start + block.event.size
        self.end = self.start + block.event.usable

    def units(self, size):
        return range(self.start // size, max(self.start, self.end - 1) // size + 1)

    def part(self, unit, size):
        """(bytes asked for, slack) within it"""
        first, last = unit * size, (unit + 1) * size

        def overlap(begin, end):
            return max(0, min(end, last) - max(begin, first))

        return overlap(self.start, self.used), overlap(self.used, self.end)


def kind_of(made, block):
    if not made.glibc:
        return "range"
    return "mapped" if block.event.flags & 1 else "arena" if block.event.flags & 2 else "main_heap"


def lanes(made, moment):
    kinds = collections.defaultdict(list)
    for block in sorted(live_at(made.blocks.blocks, moment), key=lambda b: b.event.address):
        kinds[kind_of(made, block)].append(Place(block))
    result = {}
    for kind, places in kinds.items():
        rows = []
        for place in places:
            if rows and not (kind == "arena" and rows[-1][-1].start >> 26 != place.start >> 26) and \
                    not (kind == "range" and place.start - rows[-1][-1].end > APART):
                before = rows[-1][-1]
                before.end = min(before.end, place.start)
                before.used = min(before.used, before.end)
                rows[-1].append(place)
            else:
                rows.append([place])
        result.update({(kind, i + 1): row for i, row in enumerate(rows)})
    return result


def by_unit(places, size):
    units = collections.defaultdict(list)
    for place in places:
        for unit in place.units(size):
            units[unit].append(place)
    return units


def sums(places, matching):
    own = [place.block.event for place in places if place.block.index in matching]
    pages = [(page, members) for page, members in by_unit(places, PAGE).items()
             if any(place.block.index in matching for place in members)]
    kept = [(page, members) for page, members in pages
            if all(place.block.index in matching for place in members)]
    sparse = [page for page, members in kept
              if sum(place.part(page, PAGE)[0] for place in members) < PAGE / 10]
    return {"used": sum(event.size for event in own),
            "slack": sum(event.usable - event.size for event in own), "blocks": len(own),
            "pages": len(pages), "kept_pages": len(kept), "sparse_pages": len(sparse)}


def cells(made, places, matching, size):
    """{cell: (used, slack, never freed, pages, blocks, oldest, stacks that use most)}"""
    own = [place for place in places if place.block.index in matching]
    pages = by_unit(own, PAGE)
    result = {}
    for unit, members in by_unit(own, size).items():
        parts = [(place, *place.part(unit, size)) for place in members]
        stacks = collections.Counter()
        for place, used, _ in parts:
            stacks[made.blocks.stack(place.block)] += used
        result[unit] = (
            sum(used for _, used, _ in parts), sum(slack for _, _, slack in parts),
            sum(used for place, used, _ in parts if place.block.freed is None),
            sum(page * PAGE // size == unit for page in pages), len(members),
            min(place.block.time for place in members),
            {stack for stack, used in stacks.items() if used == max(stacks.values())})
    return result


def keepers(made, rows, matching, by):
    """{key: (used, blocks, pages, bytes and blocks that keep them)}, without those that keep none."""
    pages, kept_bytes = collections.Counter(), collections.Counter()
    used, blocks = collections.Counter(), collections.Counter()
    kept_blocks = collections.defaultdict(set)
    for places in rows.values():
        for place in places:
            if place.block.index in matching:
                key = key_of(made, place.block, by, 0)
                used[key] += place.block.event.size
                blocks[key] += 1
        for page, members in by_unit(places, PAGE).items():
            keys = {key_of(made, place.block, by, 0) if place.block.index in matching else None
                    for place in members}
            if len(keys) == 1 and None not in keys:
                [key] = keys
                pages[key] += 1
                kept_bytes[key] += sum(place.part(page, PAGE)[0] for place in members)
                kept_blocks[key] |= {place.block.index for place in members}
    return {key: (used[key], blocks[key], count, kept_bytes[key], len(kept_blocks[key]))
            for key, count in pages.items()}
