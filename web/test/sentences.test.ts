/* What each page says in its first line. */
import './browser';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Errors, Finding, Info, Map as Mapping, Mallopt, Maps, Pool, Pools, Recording, Series, Space, SumsChange, SumsTable, Summary } from '../src/api/generated';
import { isNeverFreed } from '../src/api/reports';
import { HOME, type Place } from '../src/state/place';
import { place, recordings, summary } from '../src/state/state';
import { sentence as churn } from '../src/views/churn';
import { scaleOf, sentence as compare } from '../src/views/compare';
import { sentence as distributions } from '../src/views/distributions';
import { errorWords, sentence as errors } from '../src/views/errors';
import { sentence as leaks } from '../src/views/leaks';
import { leaksOf, teardownsOf, type Leak } from '../src/views/leaks_classes';
import { sentence as mallopts } from '../src/views/mallopts';
import { sentence as mappings } from '../src/views/mappings';
import { linkOf, restOf, stake, why } from '../src/views/overview_findings';
import { sentence as pools } from '../src/views/pools';
import { sentence as processes } from '../src/views/processes';
import { sentence as source } from '../src/views/source';
import { residentWords, sentence as space } from '../src/views/space';
import { groupThreads, matrixOf, threadsOf } from '../src/views/thread_groups';
import { sentence as threads } from '../src/views/threads';

const at = (here: Partial<Place>) => (place.value = { ...HOME, ...here });
const plain = (text: string | null) => text?.replace(/\u00a0/g, ' ') ?? null;

beforeEach(() => {
	at({});
	recordings.value = [];
	summary.value = { facts: { id: 'me', complete: true } as Info, peak: { at_ns: 2e9 } } as Summary;
});

interface Key {
	name: string | null;
	thread?: number | null;
	least?: number;
	largest?: number;
}
const table = (keys: Key[], key: number[], rest: object) => {
	const of = <T>(what: (one: Key) => T) => keys.map(what);
	const made = { by: '', name: of(({ name }) => name), file: null, line: null, call: null, backtrace_id: null, thread: of(({ thread }) => thread ?? null), least: of(({ least }) => least ?? null), largest: of(({ largest }) => largest ?? null) };
	return { rows: key.length, key, keys: [made, made], ...rest } as unknown as SumsTable;
};

test('churn', () => {
	const sums = (temporary: number, calls: number) => table([{ name: 'ns::f(int)' }], [0], { temporary: [temporary / 2], all: { temporary, calls } });
	expect(plain(churn(sums(500, 2000), null))).toBe('500 of 2,000 calls are temporary, 50 % of them in ns::f.');
	expect(plain(churn(sums(0, 2000), sums(0, 30)))).toBe('No call of 2,000 is temporary; 30 are steps of realloc.');
	expect(churn(sums(0, 2000), sums(0, 0))).toBe('No call of 2,000 is temporary; none is a step of realloc.');
	expect(churn(sums(0, 0), null)).toBe('Nothing matches.');
});

test('leaks: what grows, and what the server says where nothing was left', () => {
	const sums = (bytes: number) => ({ matched: { leaked_bytes: bytes, leaked_blocks: bytes ? 1 : 0 } }) as Summary;
	const grows = (bytes: number) => [{ shape: 'grows', bytes }, { shape: 'once', bytes: 9 }] as Leak[];
	expect(plain(leaks(sums(2000), grows(500), ''))).toBe('2.00 KB in 1 block was never freed; 500 B of it grows to the end.');
	expect(plain(leaks(sums(2000), grows(2000), ''))).toBe('2.00 KB in 1 block was never freed; all of it grows to the end.');
	expect([leaks(sums(0), [], 'Said.'), leaks(sums(0), [], '')]).toEqual(['Said.', 'Every block that is shown was freed.']);
	summary.value = { facts: { complete: false } } as Summary;
	expect([leaks(sums(0), [], ''), plain(leaks(sums(5), [], ''))]).toEqual(['Of the blocks that are shown none was left.', '5 B in 1 block was not freed.']);
});

test('leaks of sums and of findings', () => {
	const shapes = { shape: ['grows'], trust: ['clear'], since_ns: [1], until_ns: [2], steps: [3], rate: [4] };
	const sums = table([{ name: 'f' }], [0], { leaked: [5], curve: [[6]], shapes });
	expect(leaksOf(sums)).toMatchObject([{ shape: 'grows', trust: 'clear', name: 'f', file: null, bytes: 5, rate: 4, since: 1, until: 2, steps: 3, curve: [6] }]);
	expect(leaksOf({ ...sums, shapes: null })).toEqual([]);
	const found = [{ kind: 'grows_to_teardown', function: 'g', bytes: 7, confidence: 'likely' }, { kind: 'churn' }] as Finding[];
	expect(teardownsOf(found)).toMatchObject([{ shape: 'teardown', name: 'g', bytes: 7, trust: 'likely' }]);
});

test('wrong frees', () => {
	const report = (counts: number[], unjudged = 0) => ({ errors: counts.map((count) => ({ count })), pool_errors: [], unjudged_frees: unjudged }) as unknown as Errors;
	expect([errors(report([])), errors(report([1])), errors(report([2, 1], 4))]).toEqual([
		'No wrong free was found.', '1 wrong free.', '3 wrong frees, of 2 kinds. 4 more frees cannot be judged: what they freed is not in the recording.',
	]);
	const error = (kind: string, allocated: string | null) => errorWords({ kind, freed_by: 'free', allocated_by: allocated } as Errors['errors'][0]);
	expect([error('mismatch', 'operator new'), error('double_free', 'malloc'), error('double_free', null), error('never_allocated', null)]).toEqual([
		'free of a block made by operator new', 'free of a block that was freed already, made by malloc', 'free of a block that was freed already',
		'free of an address that was never allocated',
	]);
});

test('pools', () => {
	const report = (names: (string | null)[], left: number) =>
		({ pools: names.map((name, i) => ({ name, address: '0x5', peak_bytes: i }) as Pool), all: { peak_bytes: 9, leaked_bytes: left } }) as Pools;
	expect(pools(report([], 0))).toBe('The program has no pools of its own, or does not say so.');
	expect(plain(pools(report(['arena'], 4)))).toBe('1 pool handed out 9 B at most: arena has 0 B; 4 B was never given back.');
	expect(plain(pools(report(['arena', null], 0)))).toBe('2 pools handed out 9 B at most: 0x5 has 1 B; all was given back.');
});

test('calls of mallopt', () => {
	const call = (param: string | null) => ({ param, raw_param: -3, value: 65536 }) as Mallopt;
	expect(mallopts([])).toBe('The program did not call mallopt.');
	expect(mallopts([call('M_TOP_PAD')])).toBe('1 call of mallopt; the last set M_TOP_PAD to 65,536.');
	expect(mallopts([call('M_TOP_PAD'), call(null)])).toBe('2 calls of mallopt; the last set -3 to 65,536.');
});

test('mappings: what was there at most, where one takes the place of another', () => {
	const time = (secs: number) => ({ secs, fract_nsecs: 0 });
	const map = (from: number, to: number | null, left = 0) =>
		({ size: 100, left, timestamp_relative: time(from), deallocation: to === null ? null : { source: { timestamp_relative: time(to) } } }) as Mapping;
	const said = (list: Mapping[], count = list.length) => plain(mappings({ maps: list, total_count: count } as Maps));
	expect(said([])).toBe("The program mapped no memory by itself: all of it is its allocator's.");
	expect(said([map(1, 2), map(2, 3)])).toBe("2 mappings of the program's own: 100 B at most, at 1.00 s; none is left at the end.");
	expect(said([map(1, 3), map(2, null, 60)], 5)).toBe("5 mappings of the program's own (the 2 largest): 200 B at most, at 2.00 s; 1 with 60 B still there at the end.");
});

test('processes', () => {
	const one = (pid: number, peak: number) => ({ executable: '/usr/bin/cc1', pid, peak }) as Recording;
	expect([processes([], null), processes([one(1, 1)], null)]).toEqual(['One process was recorded: none.', 'One process was recorded: cc1.']);
	expect(plain(processes([one(1, 5), one(2, 9)], { bytes: 12, at_ns: 3e9 } as Summary['peak']))).toBe('2 processes: cc1 2 had most, 9 B; together at most 12 B, at 3.00 s.');
});

test('lines of a source file', () => {
	const files = table([{ name: '/src/a.c' }], [0], { bytes: [75], all: { bytes: 100 } });
	const line = (number: number, own: number) => ({ number, text: null, cost: { own, inclusive: own } });
	expect(plain(source(files, '/src/a.c', [line(1, 5), line(2, 50)]))).toBe('a.c has 75 B of 100 B live at 2.00 s, the peak; most by line 2, 50 %.');
	expect(source(files, null, [])).toMatch(/^No file of your own code/);
});

test('sizes and lifetimes', () => {
	const size = (all: number) => table([{ name: '1', least: 1, largest: 1 }, { name: '2', least: 2, largest: 3 }], [0, 1], { bytes: [30, 70], calls: [1, 1], all: { bytes: all } });
	const lifetimes = table([{ name: 'a', least: 1, largest: 2000 }, { name: 'b', least: 2001, largest: 4000 }], [0, 1], { calls: [6, 4], all: { calls: 10 } });
	expect(plain(distributions(size(100), null))).toMatch(/^100 B live at 2.00 s, the peak: most in blocks of .*2 B.*3 B \(70 %\)\.$/);
	expect(plain(distributions(size(100), lifetimes))).toMatch(/; half of all calls lived 2.00 µs or less\.$/);
	expect(distributions(size(0), null)).toBe('Nothing matches.');
});

test('pages of the address space, and what of the process was resident', () => {
	const pages = (blocks: number, sparse: number) => ({ at_ns: 1e9, blocks, used: 4096, pages: 2, sparse_pages: sparse }) as Space;
	expect(plain(space(pages(0, 0)))).toBe('At 1.00 s no block lives here.');
	expect(plain(space(pages(3, 1)))).toBe('At 1.00 s 4.10 KB of blocks keep 8.19 KB of pages: 50 % of each is used. 1 page is kept by less than 409 B each.');
	const series = (anonymous: number, times: number[]) =>
		({ start_ns: 0, end_ns: 10, memory: { usual_ns: 1, at_ns: times, ...Object.fromEntries(['resident', 'anonymous', 'file', 'shared'].map((name) => [name, times.map(() => (name === 'anonymous' ? anonymous : 1000))])) } }) as unknown as Series;
	expect(residentWords(series(0, []), 5, 1)).toBeNull();
	expect(plain(residentWords(series(3000, [4, 5, 6]), 5, 1000))).toBe('1.00 KB was resident then: beside live blocks 2.00 KB of free memory, stacks and mappings of its own, and 2.00 KB of files and code.');
	expect(plain(residentWords(series(500, [4, 5, 6]), 5, 1000))).toBe('1.00 KB was resident then, 2.00 KB of files and code included: not all that was live had been touched.');
});

describe('threads', () => {
	const keys = [{ name: 'main', thread: 1 }, { name: 'drain', thread: 2 }, { name: null, thread: null }];
	const said = (bytes: number[]) => {
		const sums = table(keys, [0, 0, 1], { second: [1, 2, 1], total: bytes });
		const rows = groupThreads(threadsOf(sums, 0).slice(0, 2), new Set());
		const columns = groupThreads(threadsOf(sums, 1), new Set());
		return plain(threads(rows, columns, matrixOf(sums, rows, columns, 'total'), 2, 'total'));
	};
	test('who allocated most, and who freed what others allocated', () => {
		expect(said([60, 20, 20])).toBe('2 threads allocated 100 B; main 80 % of it; drain freed 60 B that others allocated.');
		expect(said([0, 20, 80])).toBe('2 threads allocated 100 B; drain 80 % of it; none freed what another allocated.');
		expect(said([0, 0, 0])).toBe('2 threads allocated 0 B.');
	});
	test('of a live table', () => {
		summary.value = { facts: { id: 'me' }, peak: { at_ns: 0 } } as Summary;
		recordings.value = [{ id: 'me', kind: 'live' } as Recording];
		expect(said([60, 20, 20])).toBe('100 B live of 2 threads; main 80 % of it. Who freed for whom a live table does not know.');
	});
});

describe('two sides', () => {
	const change = (before: number[], after: number[]) => {
		const side = (bytes: number[]) => table([{ name: 'f' }, { name: 'g' }], [0, 1], { bytes, all: { bytes: bytes.reduce((sum, value) => sum + value, 0) } });
		return { before: side(before), after: side(after), change: { bytes: before } } as unknown as SumsChange;
	};
	test('the change, whose it is, and what is new', () => {
		expect(plain(compare(change([100, 0], [150, 10]), 1))).toBe('+60 B (+60 %): 100 B before, 160 B after. f +50 B is 83 % of it; g is new.');
		expect(plain(compare(change([100, 50], [200, 0]), 1))).toBe('+50 B (+33 %): 150 B before, 200 B after. f +100 B, more than that.');
		expect(plain(compare(change([100, 0], [100, 0]), 1))).toBe('0 B (0 %): 100 B before, 100 B after.');
		expect(plain(compare(change([100, 0], [150, 10]), 2))).toBe('−40 B (−20 %): 200 B before, 160 B after. f −50 B, more than that; g is new.');
	});
	test('before as if it had run as long, or allocated as often', () => {
		const side = (seconds: number, calls: number) => ({ facts: { duration_s: seconds }, all: { calls } }) as Summary;
		const both = { before: side(2, 10), after: side(6, 40) };
		expect([scaleOf('none', both), scaleOf('time', both), scaleOf('call', both), scaleOf('time', { ...both, before: side(0, 0) })]).toEqual([1, 3, 4, 1]);
	});
});

describe('findings', () => {
	const finding = (more: Partial<Finding>) => ({ kind: 'slack', sentence: '', bytes: 0, confidence: null, numbers: {}, conditions: {}, view: null, sort: null, file: null, ...more }) as Finding;
	test('lead to the page that shows them, with their conditions or beside all others', () => {
		const link = (more: Partial<Finding>) => linkOf(finding(more))?.href ?? null;
		expect(link({})).toBeNull();
		expect(link({ view: 'mappings' })).toBe('#/mappings');
		expect(link({ kind: 'never_freed_grows', conditions: { allocated_by: 'f' }, sort: 'leaked' })).toBe('#/leaks?metric=leaked&allocated_by=f');
		expect(link({ kind: 'temporary', conditions: { allocated_by: 'f' } })).toBe('#/churn?metric=temporary');
		expect(link({ kind: 'large_block', conditions: { alive_at: '5ns' } })).toBe('#/flame?range=moment:5ns');
		expect(link({ conditions: { alive_at: '5ns', allocated_by: 'f' } })).toBe('#/sites?range=moment:5ns&metric=slack&allocated_by=f');
	});
	test('are about memory that is never freed, or not', () => {
		expect(['never_freed_once', 'grows_to_teardown', 'churn'].map((kind) => isNeverFreed(finding({ kind })))).toEqual([true, true, false]);
	});
	test('say what is at stake, and why', () => {
		expect([stake(finding({ bytes: 1000 })), stake(finding({ numbers: { chains: 12, bytes: 5 } })), stake(finding({ numbers: { bytes: 5 } })), stake(finding({}))].map(plain)).toEqual(['1.00 KB', '12', '5 B', '']);
		const found = finding({ bytes: 1, numbers: { bytes_per_second: 2000, since_ns: 1e9, blocks: 3 }, file: '/src/a.c', line: 7, confidence: 'likely', sentence: 'in b.c:9' });
		expect(plain(why(found))).toBe('2.00 KB a second · since 1.00 s · 3 blocks · a.c:7 · likely');
		expect(why({ ...found, numbers: {}, sentence: 'in a.c:7' })).toBe('likely');
		expect([restOf('1.00 KB is slack', '1.00\u00a0KB'), restOf('f has slack', '1.00\u00a0KB')]).toEqual(['is slack', 'f has slack']);
	});
});
