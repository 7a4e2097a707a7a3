"""The figures to reach, each beside what was measured."""
import statistics
import textwrap

import figures
import formats
import table

SLOWDOWN, SLOWDOWN_PYTHON = 1.35, 1.8
RUNNING, RUNNING_MEAN, FINISHING = 1 / 6, 1 / 10, 1 / 3
EVENT, FINISHED_EVENT = 16, 5
CLANG_MEMORY = 64 << 20
SCALING, PAIR_NS, LIVE_PAIR_NS = 0.95, 40, 15
FROM_EVENTS_S, BY_INDEX_S, PRIVATE = 3.0, 0.3, 24     # of ten million allocations
FINDINGS_S = 0.3                                      # the same, by what the recording keeps
DIFF_S = 1.5                                          # of two of three million
PAGE_MS, FLAMEGRAPH_MS, FLAME_MS, NEXT_PAGE_MS, STREAM = 150, 200, 150, 20, 200
VIEWS_MS = {"curves by fate": 120, "curves by function": 120, "sums by site": 120,
            "sums by function": 120, "sums by thread": 120, "space by function": 200}
LIVE, LIVE_HEAPTRACE, SAMPLED = 1 / 5, 1 / 20, 1.03     # added CPU by theirs; slowdown
CORE_S, CORE_PRIVATE, CORE_AGENT = 8, 300_000_000, 1_000_000   # ten million live blocks in a core dump
LIVE_EACH, LIVE_SHARE, LIVE_REPORT_S = 48, 0.3, 1
HUGE_LOAD_S, HUGE_ANSWER_S = 40, 1.5                  # of a hundred million
HEADLINE_S, LOOKS = 0.3, 2                            # of ten million in 12 s; by one whole load
FILE_MB, FILE_DRAWN_MS = 12, 1500
FIRST_VIEW_MS, BRUSH_MS, TASK_MS, ZOOM_MS, BLANK_MS = 1000, 250, 100, 16, 100   # of the web interface
TAB_MB, SCRIPT_KB = 150, 100
TRACED_PAIR = {"without stacks": 0.33, "whole stacks": 0.70, "--combined-only": 0.33, "-s 100": 0.25}
RECORDED_PAIR = 1.1                              # of mallow memleak's
TRACED_KERNEL, KERNEL_REPORT_S = 0.5, 2.0     # by bcc's memleak; wall, with the end of mallow
TRACED_PROGRAM, ATTACH_S, TRACED_REPORT_S = 0.65, 0.4, 1.5   # by bcc's memleak; CPU; wall and CPU, of a million blocks
ARRIVAL, SENT_CPU, SENDER_CPU, RECEIVER = 1.2, 1.03, 0.05, 20_000_000    # of recordings that are sent
START_MS = 20                                         # of the tarball, and beside the ordinary build
START_RATIO = 1.2
BUNDLE = 40e6
PUSH_S = 0.030                                         # of 5,000 sites, so also of 8,192
TABLES_S, ASKED_S = 2 / 3, 1                           # of a million blocks; of ten million
EXPORT_S, EXPORT_MEMORY, IMPORT_RATIO, STRIP_MEMORY = 1.5, 300e6, 1.5, 256 << 20
DEEP_ANSWER_S = 1                                     # of many deep stacks


class Goals:
    """Collects what is said of each goal: nothing of one that could not be measured."""

    def __init__(self):
        self.lines = []

    def add(self, met, text):
        self.lines += textwrap.wrap(text, table.WIDTH, initial_indent="met       " if met else
                                    "NOT MET   ", subsequent_indent=" " * 12)

    def each(self, text, values, limit, form):
        """A goal for each of several programs: {name: value}."""
        values = {name: value for name, value in values.items() if value is not None}
        if not values:
            return
        over = {name: value for name, value in values.items() if value > limit}
        worst = max(values, key=values.get)
        missed = ", ".join(f"{name} {form(value)}" for name, value in over.items())
        if over:
            self.add(False, f"{text}: not {missed}")
        else:
            self.add(True, f"{text}: all of {len(values)}, {worst} with {form(values[worst])}")


def of_programs(results, goals):
    names = [workload.name for workload in results.workloads if workload.counts]

    def by_name(value_of, *arguments):
        return {name: value_of(results, name, *arguments) for name in names}

    goals.each("added CPU while running <= 1/6 of heaptrack's", by_name(figures.share, "mallow"),
               RUNNING, table.share)
    mean = figures.mean_share(results, "mallow")
    if mean is not None:
        goals.add(mean <= RUNNING_MEAN, f"their geometric mean <= 1/10: {table.share(mean)}")
    slow = by_name(figures.slowdown, "mallow")
    python = {name: slow.pop(name) for name in list(slow) if name == "python"}
    goals.each("slowdown while running <= 1.35x", slow, SLOWDOWN, table.times)
    goals.each("slowdown of python3 <= 1.8x", python, SLOWDOWN_PYTHON, table.times)
    goals.each("running and finishing <= 1/3 of heaptrack's", by_name(figures.share, "finish"),
               FINISHING, table.share)
    goals.each("bytes an event while recording <= 16", by_name(figures.bytes_per_event, "mallow"),
               EVENT, "{:.1f}".format)
    goals.each("bytes an event when finished <= 5", by_name(figures.bytes_per_event, "finish"),
               FINISHED_EVENT, "{:.2f}".format)
    more = {name: value for name, value in by_name(figures.added_peak, "mallow").items()
            if name == "clang"}
    goals.each("agent memory for clang++ <= 64 MiB", more, CLANG_MEMORY,
               lambda value: f"{value / 2**20:.1f} MiB")
    of_live_programs(results, goals)
    reading(results, goals)


def of_live_programs(results, goals):
    names = [workload.name for workload in results.workloads if workload.counts]

    def shares(of):
        return {name: figures.share(results, name, "live", of=of) for name in names}

    goals.each("CPU added by mallow live <= 1/5 of heaptrack's", shares("heaptrack"), LIVE, table.share)
    goals.each("and <= 1/20 of heaptrace's way", shares("heaptrace"), LIVE_HEAPTRACE, table.share)
    goals.each("slowdown by samples of 512 KiB <= 1.03x",
               {name: figures.slowdown(results, name, "sampled") for name in names}, SAMPLED, table.times)


def of_live(lived, goals):
    if not lived:
        return
    goals.each("its table has <= 48 bytes a live block, beside sites and their stacks", lived.each, LIVE_EACH,
               "{:.1f}".format)
    goals.each("and <= 30 % of the heap", lived.share, LIVE_SHARE, "{:.1%}".format)
    limit = LIVE_REPORT_S * lived.report.sites / 100_000
    goals.add(min(lived.report.text) <= limit, f"a report of {lived.report.sites:,} backtraces in <= "
                                               f"{limit:.2g} s: {min(lived.report.text):.2f} s")


def reading(results, goals):
    times = [[value for value in results.values("clang", name, "read") if value is not None]
             for name in ("finish", "heaptrack")]
    if all(times):
        ours, theirs = map(min, times)
        goals.add(ours <= theirs, "report of clang++'s recording no slower than heaptrack_print: "
                                  f"{ours:.2f} s, {theirs:.2f} s")


def of_micro(pairs, scaling, goals):
    if pairs:
        worst = max(pairs.rest.values())
        goals.add(worst <= PAIR_NS, f"a pair without the capture <= 40 ns: {worst:.1f} ns")
        for name in "samples of 512 KiB", "without stacks":
            goals.add(pairs.live[name] <= LIVE_PAIR_NS, f"live, {name}: <= {LIVE_PAIR_NS} ns a "
                      f"malloc/free pair more: {pairs.live[name]:.1f}")
    if scaling:
        goals.add(scaling >= SCALING, f"two threads scale >= 0.95 of bare: {scaling:.2f}")


def of_engine(opened, goals):
    """The goals are those of ten million allocations, by the share of it that was measured."""
    if not opened:
        return
    share = opened.allocations / 10_000_000
    events, index = min(opened.events), min(opened.index)
    goals.add(events <= FROM_EVENTS_S * share,
              f"a recording with its blocks opens in <= {FROM_EVENTS_S * share:g} s: {events:.2f} s")
    goals.add(index <= BY_INDEX_S * share,
              f"by its index file in <= {BY_INDEX_S * share:g} s: {index:.2f} s")
    found = min(opened.findings)
    goals.add(found <= FINDINGS_S, f"reported with what stands out in <= {FINDINGS_S:g} s: {found:.2f} s")
    goals.add(opened.private_each <= PRIVATE, "private memory for that <= 24 bytes an allocation: "
                                              f"{opened.private_each:.1f}")
    diff = min(opened.diff)
    goals.add(diff <= DIFF_S, f"two recordings of 3 M allocations are compared in <= {DIFF_S:g} s: {diff:.2f} s")
    of_serving(opened.serving, goals)
    goals.add(min(opened.flame) <= FLAME_MS, f"one cut to 2,000 pixels, by index file, in <= {FLAME_MS} ms: "
                                             f"{min(opened.flame):.0f} ms")
    if opened.huge:
        load, longest = opened.huge.load, opened.huge.longest() / 1000
        goals.add(load <= HUGE_LOAD_S, f"100 M allocations load in <= {HUGE_LOAD_S} s: {load:.1f} s")
        goals.add(longest <= HUGE_ANSWER_S,
                  f"and any answer takes <= {HUGE_ANSWER_S} s: {longest:.2f} s")


def of_serving(served, goals):
    pages = {what: min(values) for what, values in served.pages.items()}
    first = {what: values[0] for what, values in served.pages.items()}
    following = {what: min(values) for what, values in served.next.items()}
    form = "{:.0f} ms".format
    goals.each(f"a filtered, sorted page is served in <= {PAGE_MS} ms", pages, PAGE_MS,
               form)
    goals.each("the first one of its kind, too, without an index file", first, PAGE_MS, form)
    goals.each(f"the page after it in <= {NEXT_PAGE_MS} ms", following, NEXT_PAGE_MS, form)
    for what, values in served.views.items():
        if what not in VIEWS_MS:
            continue
        goals.add(min(values) <= VIEWS_MS[what],
                  f"{what} in <= {VIEWS_MS[what]} ms: {min(values):.0f} ms")
    flamegraph = min(served.flamegraph)
    goals.add(flamegraph <= FLAMEGRAPH_MS,
              f"a flame graph in <= {FLAMEGRAPH_MS} ms: {flamegraph:.0f} ms")
    goals.add(max(served.stream) >= STREAM,
              f"JSON is served with >= {STREAM} MB/s: {max(served.stream):.0f} MB/s")


def of_growing(grown, goals):
    if not grown:
        return
    headline = min(grown.headline)
    goals.add(headline <= HEADLINE_S, f"the headline stands there <= {HEADLINE_S} s after the end of a program of "
                                      f"{table.count(grown.allocations)} allocations: {headline:.2f} s")
    goals.each(f"all looks at a recording that grows cost <= {LOOKS}x of one whole load",
               {needs: min(ratios) for needs, ratios in grown.looks.items()}, LOOKS, table.times)


def of_core(dumped, goals):
    if not dumped or dumped.blocks < 10_000_000:
        return
    goals.each(f"a report of a core dump with {table.count(dumped.blocks)} live blocks takes <= {CORE_S} s",
               {name: min(values) for name, values in dumped.wall.items()}, CORE_S, "{:.1f} s".format)
    goals.each(f"and <= {CORE_PRIVATE / 1e6:.0f} MB of private memory", dumped.private, CORE_PRIVATE,
               lambda value: f"{value / 1e6:.0f} MB")
    goals.add(dumped.added <= dumped.table + CORE_AGENT,
              "live mode adds at most the table's own size to a core dump, and 1 MB of the agent's own data: "
              f"{(dumped.added - dumped.table) / 1e6:.2f} MB more than the table's {dumped.table / 1e6:.0f} MB")


def of_deep(deeply, goals):
    if not deeply:
        return
    longest = deeply.serving.longest() / 1000
    goals.add(longest <= DEEP_ANSWER_S, f"the same answers of {table.count(deeply.stacks)} deep stacks take "
                                        f"<= {DEEP_ANSWER_S} s: {longest:.2f} s")
    slow = [f"{what} begins after {min(one.begins):.2f} s, with {one.speed():.0f} MB/s"
            for what, one in deeply.whole.items() if min(one.lasts) > DEEP_ANSWER_S
            and (min(one.begins) > DEEP_ANSWER_S or one.speed() < STREAM)]
    goals.add(not slow, f"all of them in one answer take <= {DEEP_ANSWER_S} s, or begin by then and come with >= "
                        f"{STREAM} MB/s: {'not ' + ', '.join(slow) if slow else f'all of {len(deeply.whole)}'}")


def of_web(seen, goals):
    if not seen:
        return
    goals.add(seen.cold <= FIRST_VIEW_MS, f"the web interface shows {table.count(seen.allocations)} allocations <= "
                                      f"{FIRST_VIEW_MS} ms after navigation: {seen.cold:.0f} ms")
    goals.each(f"each page follows the brush in <= {BRUSH_MS} ms",
               {name: min(values) for name, values in seen.brush.items()}, BRUSH_MS, "{:.0f} ms".format)
    longest = max(seen.longest, seen.zoom.longest if seen.zoom else 0)
    goals.add(longest <= TASK_MS, f"no task on its own thread takes > {TASK_MS} ms: {longest:.0f} ms")
    if seen.zoom:
        drawn = statistics.median(seen.zoom.drawn)
        goals.add(drawn <= ZOOM_MS, f"a frame of zooming {seen.zoom.nodes:,} nodes takes <= {ZOOM_MS} ms of script "
                                    f"(median): {drawn:.1f} ms")
    goals.add(max(seen.scroll) <= BLANK_MS, f"rows that are jumped to are there after <= {BLANK_MS} ms, all "
                                            f"{len(seen.scroll)} times: {max(seen.scroll):.0f} ms")
    goals.add(seen.tab <= TAB_MB, f"its tab's process takes <= {TAB_MB} MB: {seen.tab:.0f} MB")
    goals.add(seen.script <= SCRIPT_KB, f"its script is <= {SCRIPT_KB} kB as sent: {seen.script:.0f} kB")
    if seen.file:
        file = seen.file
        million = file.bytes / file.nodes
        goals.add(million <= FILE_MB, f"a million nodes of flame graphs take <= {FILE_MB} MB in the page as one file: "
                                      f"{million:.1f} MB")
        goals.add(min(file.drawn) <= FILE_DRAWN_MS, f"{table.count(file.drawn_nodes)} nodes are drawn <= {FILE_DRAWN_MS} ms "
                                                    f"after it is opened: {min(file.drawn):.0f} ms")


def of_memleak(traced, goals):
    if not traced:
        return
    for name, limit in TRACED_PAIR.items():
        share = traced.against(name)
        if share is not None:
            goals.add(share <= limit, f"a pair under mallow memleak, {name}, takes <= {limit:.2f}x of that under bcc's "
                                      f"memleak: {table.times(share)}")
    recorded = min(traced.recorded) / min(traced.ours["whole stacks"])
    goals.add(recorded <= RECORDED_PAIR, f"a pair under mallow attach takes <= {RECORDED_PAIR:.2f}x of that under mallow "
                                         f"memleak: {table.times(recorded)}")
    if "bcc's memleak" in traced.compiler:
        ours, theirs = min(traced.compiler["mallow memleak"]), min(traced.compiler["bcc's memleak"])
        goals.add(ours <= TRACED_PROGRAM * theirs, f"cc1plus with whole stacks <= {TRACED_PROGRAM:.2f}x: "
                                                   f"{table.times(ours / theirs)}")
    odd = sum(traced.odd.values())
    goals.add(traced.stacks and not odd, "each of its stacks that is not cut begins in _start or a thread's start: "
                                         f"{f'not {odd:,}' if odd else f'all of {traced.stacks:,}'}")
    attach = min(traced.attach)
    goals.add(attach <= ATTACH_S, f"mallow memleak attaches and reports in <= {ATTACH_S} s of CPU: {attach:.2f} s")
    if traced.blocks >= 1_000_000:
        longest = max(min(traced.report), min(traced.report_cpu))
        goals.add(longest <= TRACED_REPORT_S, f"its report of {table.count(traced.blocks)} live blocks takes <= "
                                              f"{TRACED_REPORT_S} s: {longest:.2f} s")


def of_memleak_kernel(traced, goals):
    if not traced:
        return
    share = traced.against()
    if share is not None:
        goals.add(share <= TRACED_KERNEL, f"eventfd() and close() under mallow memleak on the kernel take <= "
                                          f"{TRACED_KERNEL:.2f}x of that under bcc's memleak: {table.times(share)}")
    if traced.objects >= 1_000_000:
        goals.add(min(traced.report) <= KERNEL_REPORT_S, f"its report of {table.count(traced.objects)} objects of the "
                                                         f"kernel takes <= {KERNEL_REPORT_S} s: {min(traced.report):.2f} s")


def of_streaming(streamed, goals):
    if not streamed:
        return

    def least(runs, of):
        return min(of(one) for one in runs)

    programs = streamed.alone
    goals.each(f"a recording has arrived within {ARRIVAL}x of the program's time",
               {name: least(streamed.sent[name], lambda one: one.arrived) / least(programs[name], lambda one: one.wall)
                for name in programs}, ARRIVAL, table.times)
    goals.each(f"sending costs the program <= {SENT_CPU}x of its processor time",
               {name: least(streamed.sent[name], lambda one: one.cpu) / least(programs[name], lambda one: one.cpu)
                for name in programs}, SENT_CPU, table.times)
    goals.each(f"the sender takes <= {SENDER_CPU:.0%} of the program's processor time",
               {name: least(streamed.sent[name], lambda one: one.sender) / least(programs[name], lambda one: one.cpu)
                for name in programs}, SENDER_CPU, "{:.1%}".format)
    goals.add(streamed.receiver <= RECEIVER, f"the receiver takes <= {RECEIVER / 1e6:.0f} MB a sender: "
                                             f"{streamed.receiver / 1e6:.1f} MB in all")


def of_bundle(bundled, goals):
    if not bundled:
        return
    begin, run = "mallow --version", "mallow run true"
    goals.add(min(bundled.bundle[begin]) <= START_MS, f"the tarball's `{begin}` takes <= {START_MS} ms: "
                                                      f"{min(bundled.bundle[begin]):.1f} ms")
    ratio = min(bundled.bundle[run]) / min(bundled.tool[run])
    goals.add(ratio <= START_RATIO, f"its `{run}` takes <= {START_RATIO}x the ordinary build's: {ratio:.2f}x")
    goals.add(bundled.size <= BUNDLE, f"it is <= {BUNDLE / 1e6:.0f} MB unpacked: {bundled.size / 1e6:.1f} MB")


def of_formats(converted, goals):
    if not converted:
        return
    engine = {blocks: [min(values) for values in zip(*found)] for blocks, found in converted.engine.items()}
    goals.each(f"each export of clang++'s recording takes <= {EXPORT_S} s of CPU beyond the engine",
               {name: min(cpu for cpu, _ in found) - engine[blocks][0] for name, (found, blocks) in exports_of(converted)},
               EXPORT_S, "{:.2f} s".format)
    goals.each(f"and <= {EXPORT_MEMORY / 1e6:.0f} MB",
               {name: min(memory for _, memory in found) - engine[blocks][1]
                for name, (found, blocks) in exports_of(converted)},
               EXPORT_MEMORY, lambda value: f"{value / 1e6:.0f} MB")
    tables = converted.tables
    seconds = (min(cpu for cpu, _ in tables["used"]) - engine[True][0]) / (tables["blocks"] / 1e6)
    goals.add(seconds <= TABLES_S, f"parquet takes <= {TABLES_S:.2f} s of CPU a million blocks beyond the engine: {seconds:.2f} s")
    goals.add(tables["bytes"] <= tables["recording"], "and is smaller than the recording: "
              f"{tables['bytes'] / 1e6:.1f} of {tables['recording'] / 1e6:.1f} MB")
    if converted.asked:
        goals.add(min(converted.asked) <= ASKED_S, f"mallow sql sums ten million blocks by site in <= {ASKED_S} s after the export: "
                                                  f"{min(converted.asked):.2f} s")
    goals.add(min(converted.pushed) <= PUSH_S, f"a push of 8,192 sites takes <= {1e3 * PUSH_S:.0f} ms of CPU beyond opening: "
                                               f"{1e3 * min(converted.pushed):.0f} ms")
    if converted.imports:
        ratio = min(converted.imports) / min(converted.printed)
        goals.add(ratio <= IMPORT_RATIO, f"import of heaptrack's file takes <= {IMPORT_RATIO}x heaptrack_print: {ratio:.2f}x")
    goals.add(converted.strip[1] <= STRIP_MEMORY, f"strip takes <= {STRIP_MEMORY / 1e6:.0f} MB: {converted.strip[1] / 1e6:.0f} MB")


def exports_of(converted):
    return [(name, (found, formats.EXPORTS[name])) for name, found in converted.exports.items()]


def section(results, pairs, scaling, lived=None, opened=None, deeply=None, grown=None, seen=None,
            dumped=None, traced=None, traced_kernel=None, streamed=None, bundled=None, converted=None):
    goals = Goals()
    of_programs(results, goals)
    of_micro(pairs, scaling, goals)
    of_live(lived, goals)
    of_engine(opened, goals)
    of_growing(grown, goals)
    of_core(dumped, goals)
    of_deep(deeply, goals)
    of_web(seen, goals)
    of_memleak(traced, goals)
    of_memleak_kernel(traced_kernel, goals)
    of_streaming(streamed, goals)
    of_bundle(bundled, goals)
    of_formats(converted, goals)
    return ["Goals (of minima)", "", *goals.lines] if goals.lines else []
