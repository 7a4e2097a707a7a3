/* What the page as one file computes by itself: which answer is meant, and rows of tables. */
import { describe, expect, it } from 'vitest';
import type { Maps, Series, SumsTable } from '../src/api/generated';
import { mapsOf } from '../src/file/maps';
import { keyOf, questionOf } from '../src/file/question';
import { within } from '../src/file/series';
import { bySecond, joined, kept, sorted, taken } from '../src/file/tables';
import { exactly, nameOf } from '../src/text/names';

const key = (target: string) => keyOf(questionOf(target));

describe('questions', () => {
	it('are the same if only the form of the answer differs', () => {
		expect(key('/data/last/sums?sort_by=calls&count=20&spark=48')).toBe(key('sums?by=site&spark=64&count=8000&skip=8000'));
		expect(key('/data/abc/flame?metric=peak&merge=functions&fold=plumbing%2Ctrunk&cut=1400')).toBe(
			key('flame?metric=peak&fold=plumbing,trunk,recursion&cut=0&ids=false&max=20000'),
		);
		expect(key('/data/last/series?start=1ns&end=5ns')).toBe(key('series?points=2000'));
		expect(key('/list')).toBe('/list');
	});
	it('differ by what is asked', () => {
		const all = ['sums', 'sums?by=function', 'sums?inclusive=true', 'sums?alive_at=5ns', 'flame?metric=peak', 'flame?metric=peak&fold=trunk', 'series?by=thread', 'space?cell=4K', 'space'];
		expect(new Set(all.map(key)).size).toBe(all.length);
	});
	it('have names in them that are exactly so', () => {
		for (const name of ['main', 'std::vector<int>::operator[](unsigned long)', 'a|b', '^$', 'x\\y']) expect(nameOf(exactly(name))).toBe(name);
		for (const pattern of ['main', '^main', 'main$', '^ma.n$', '^a|b$', '^(a)$']) expect(nameOf(pattern)).toBeNull();
	});
});

const column = (name: string[], thread: (number | null)[] | null = null) => ({
	by: '', name, file: null, line: null, call: null, thread, backtrace_id: null, site_id: null, shape_id: null, weak_id: null, least: null, largest: null,
});

const table = (keys: SumsTable['keys'], rows: [number, number | null, number][]): SumsTable =>
	({
		at_ns: 1, rows: rows.length, keys, key: rows.map(([first]) => first), second: rows.map(([, second]) => second),
		...Object.fromEntries(['bytes', 'blocks', 'leaked', 'total', 'calls', 'temporary', 'slack', 'growth'].map((name) => [name, rows.map(([, , value]) => value)])),
		own_peak: rows.map(([, , value]) => value), first: rows.map((_, i) => i), last: rows.map((_, i) => i * 10), curve: [], spark_ns: [], shapes: null,
		lifetimes: { freed: rows.map(() => 2), mean_ns: rows.map(([, , value]) => value), longest_ns: rows.map(([, , value]) => value * 2) },
		all: { bytes: 100, blocks: 100, leaked: 100, total: 100, calls: 100, temporary: 100, slack: 100 },
	}) as unknown as SumsTable;

describe('tables', () => {
	const two = table([column(['f', 'g', 'h']), column(['small', 'large'])], [[0, 1, 10], [1, 0, 7], [0, 0, 5], [2, null, 3], [1, 1, 1]]);
	it('are sorted, what is equal by its key', () => {
		const one = table([column(['b', 'a'], [8, 7])], [[0, null, 4], [1, null, 4]]);
		expect(sorted(one, 'bytes', true).key).toEqual([0, 1]);
		expect(sorted(one, 'bytes', false).key).toEqual([1, 0]);
		expect(sorted(two, 'bytes', false).bytes).toEqual([1, 3, 5, 7, 10]);
		expect(sorted(two, 'nothing', false)).toBe(two);
	});
	it('keep their sums when rows are taken, and have those of rows that are kept', () => {
		expect(taken(two, [0]).all.bytes).toBe(100);
		const of = kept(two, (first) => first === 0);
		expect([of.rows, of.all.bytes, of.bytes]).toEqual([2, 15, [10, 5]]);
	});
	it('add up by the second key', () => {
		const sums = bySecond(kept(two, (first) => first < 2));
		expect(sums.keys[0]!.name).toEqual(['small', 'large']);
		expect([sums.key, sums.bytes, sums.calls]).toEqual([[0, 1], [12, 11], [12, 11]]);
		expect(sums.lifetimes).toEqual({ freed: [4, 4], mean_ns: [6, 6], longest_ns: [14, 20] });
		expect([sums.first, sums.last]).toEqual([[1, 0], [20, 40]]);
	});
	it('leave keys out that nothing has', () => {
		expect(bySecond(kept(two, (first) => first === 0)).keys[0]!.name).toEqual(['small', 'large']);
		const only = bySecond(kept(table([column(['f']), column(['a', 'b', 'c'])], [[0, 2, 1]]), () => true));
		expect([only.keys[0]!.name, only.key]).toEqual([['c'], [0]]);
	});
	it('are one, of pages', () => {
		const pages = [table([column(['f', 'g'])], [[0, null, 9], [1, null, 8]]), table([column(['h'])], [[0, null, 7]]), table([column([])], [])];
		const one = joined(pages);
		expect(one.key.map((key) => one.keys[0]!.name[key!])).toEqual(['f', 'g', 'h']);
		expect([one.bytes, one.lifetimes.freed]).toEqual([[9, 8, 7], [2, 2, 2]]);
		const shaped = pages.map((page) => ({ ...page, spark_ns: [1, 2], shapes: { steps: page.bytes } }) as unknown as SumsTable);
		expect([joined(shaped).shapes?.steps, joined(shaped).spark_ns]).toEqual([[9, 8, 7], [1, 2]]);
	});
});

describe('curves', () => {
	const series = { start_ns: 0, end_ns: 40, at_ns: [10, 20, 30, 40], live_last: [1, 2, 3, 4], curves: [], memory: { at_ns: [5, 25], resident: [7, 8] } } as unknown as Series;
	it('are cut to a span, to the step in which it ends', () => {
		const cut = within(series, { start: '15ns', end: '25ns' });
		expect([cut.at_ns, cut.live_last, cut.memory.resident]).toEqual([[20, 30], [2, 3], [8]]);
		expect([cut.start_ns, cut.end_ns]).toEqual([15, 25]);
	});
	it('are whole without one', () => {
		expect(within(series, {})).toBe(series);
	});
});

describe('mappings', () => {
	const map = (id: number, size: number) => ({ id, size, address: 100 - id, peak_rss: 0 });
	const all = { maps: [map(1, 5), map(0, 5), map(2, 9)], total_count: 3 } as unknown as Maps;
	const ids = (params: Record<string, string>) => mapsOf(all, params).maps.map(({ id }) => id);
	it('come in pages, in any order', () => {
		expect(ids({})).toEqual([0, 1, 2]);
		expect(ids({ sort_by: 'size' })).toEqual([2, 1, 0]);
		expect(ids({ sort_by: 'address', count: '2' })).toEqual([2, 1]);
		expect(ids({ sort_by: 'address', count: '2', skip: '2' })).toEqual([0]);
	});
});
