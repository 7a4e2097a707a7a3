/* What the pages beyond the first ones compute by themselves. */
import './browser';
import { describe, expect, it } from 'vitest';
import type { Flame, Recording, Space, SumsTable } from '../src/api/generated';
import { classConditions, classesOf, classText } from '../src/charts/classes';
import { stepOf } from '../src/charts/heat_map';
import { cellAt, entryOf, placeLanes, pointOf } from '../src/charts/space/layout';
import { framesOf, ownOf } from '../src/api/reports';
import { familyOf } from '../src/state/family';
import { recordingTree } from '../src/state/recording_tree';
import { processRows, sumCurves } from '../src/views/process_tree';
import { costsOf, editorLink, linesOf } from '../src/views/source_lines';
import { groupThreads, matrixOf, NO_THREAD, threadsOf } from '../src/views/thread_groups';
import { downToFork, openAtFirst, rowsOf, treeOf } from '../src/views/tree_nodes';

const sums = (keys: Partial<SumsTable['keys'][number]>[], rest: Partial<SumsTable>): SumsTable =>
	({
		keys: keys.map((key) => ({ by: '', name: [], file: null, line: null, call: null, thread: null, backtrace_id: null, least: null, largest: null, ...key })),
		...rest,
	}) as SumsTable;

describe('recordings as a tree', () => {
	const recording = (id: string, parent: string | null, path: string, secs: number) =>
		({ id, parent, path, executable: `/usr/bin/${id}`, cmdline: `${id} -x`, pid: 100 + secs, timestamp: { secs, fract_nsecs: 0 } }) as Recording;
	const list = [
		recording('make', null, '/r/b/make.mallow', 1), recording('sh', 'make', '/r/b/make.mallow.1', 2), recording('cc', 'sh', '/r/b/make.mallow.2', 3),
		recording('ls', null, '/r/b/ls.mallow', 9), recording('old', 'gone', '/r/a/old.mallow', 4),
		recording('egg', 'hen', '/r/c/egg.mallow', 5), recording('hen', 'egg', '/r/c/hen.mallow', 6),
	];
	const shown = (words?: string) =>
		recordingTree(list, words).map(({ path, runs }) => [path, ...runs.map((run) => [run.size, ...run.processes.map(({ recording: { id }, level }) => `${id} ${level}`)])]);
	it('has directories, the latest run first, and who started whom', () => {
		expect(shown()).toEqual([
			['/r/a', [1, 'old 0']],
			['/r/b', [1, 'ls 0'], [3, 'make 0', 'sh 1', 'cc 2']],
			['/r/c', [2, 'egg 0', 'hen 1']],
		]);
	});
	it('has of a run what words find', () => {
		expect(shown('CC make.mallow')).toEqual([['/r/b', [3, 'cc 2']]]);
		expect(shown('104')).toEqual([['/r/a', [1, 'old 0']]]);
		expect(shown('nowhere')).toEqual([]);
	});
});

describe('classes', () => {
	const sizes = sums([{ name: [null, null], least: [33, 5], largest: [64, 8] }], { key: [0, 1] });
	it('are in their order, with those in which nothing is', () => {
		expect(classesOf(sizes, 0, 'size').map(({ least, largest, key }) => [least, largest, key])).toEqual([
			[5, 8, 1], [9, 16, null], [17, 32, null], [33, 64, 0],
		]);
	});
	it('end with what was never freed', () => {
		const lifetimes = sums([{ name: [null, null], least: [null, 1001], largest: [null, 2000] }], { key: [0, 1] });
		const found = classesOf(lifetimes, 0, 'lifetime');
		expect(found.map((one) => classText(one, 'lifetime'))).toEqual(['1.00\u00a0µs to 2.00\u00a0µs', 'never freed']);
		expect(classConditions(found, 'lifetime')).toEqual({ lifetime_min: '1001ns' });
		expect(classConditions(found.slice(1), 'lifetime')).toEqual({ lifetime: 'only_leaked' });
		const clock = sums([{ name: [null, null], least: [0, 65], largest: [1, 128] }], { key: [0, 1] });
		expect(classesOf(clock, 0, 'lifetime').map((one) => classText(one, 'lifetime'))).toEqual(['0 ns to 64 ns', '65 ns to 128 ns']);
		expect(classConditions([], 'size')).toEqual({});
	});
	it('are conditions with both ends', () => {
		expect(classConditions(classesOf(sizes, 0, 'size').slice(0, 2), 'size')).toEqual({ size_min: '5', size_max: '16' });
	});
	it('have five steps of colour', () => {
		expect([0, 1, 9, 10, 10000, 100000].map((value) => stepOf(value, 100000))).toEqual([0, 1, 1, 1, 4, 5]);
	});
});

describe('address space', () => {
	const cells = (first: number[], count: number[]) => ({
		first, count, used: first, slack: first, never_freed: first, pages: first, blocks: first, oldest_ns: first, backtrace_id: first,
	});
	const space = {
		cell: 4096,
		lanes: [
			{ kind: 'main_heap', number: 1, start: 0, end: 4096 * 5000, cells: cells([0, 4000], [2, 3]) },
			{ kind: 'mapped', number: 1, start: 0, end: 100, cells: cells([0], [1]) },
		],
	} as unknown as Space;
	it('leaves out long stretches without a block, and says how long', () => {
		const placed = placeLanes(space, 280);
		const [lane] = placed.lanes;
		const { columns } = placed;
		expect(lane!.rows.map(({ empty }) => empty)).toEqual([false, true, false, true]);
		expect(lane!.rows.reduce((sum, row) => sum + row.cells, 0)).toBe(5000);
		expect(lane!.rows[1]!.first).toBe(columns);
		expect(placed.lanes[1]!.rows).toHaveLength(1);
	});
	it('finds the cell at a point, and the point of a cell', () => {
		const placed = placeLanes(space, 280);
		for (const chosen of [{ lane: 0, cell: 1 }, { lane: 0, cell: 4002 }, { lane: 1, cell: 0 }]) {
			const point = pointOf(placed, chosen)!;
			expect(cellAt(placed, point.x + 1, point.y + 1)).toEqual(chosen);
		}
		expect(cellAt(placed, 1, 1e6)).toBeNull();
		expect(pointOf(placed, { lane: 0, cell: 2000 })).toBeNull();
	});
	it('knows what lies in a cell', () => {
		expect([0, 1, 2, 3999, 4002, 4003].map((cell) => entryOf(space.lanes[0]!, cell))).toEqual([0, 0, -1, -1, 1, -1]);
	});
});

describe('threads', () => {
	const both = sums(
		[{ name: ['w-0', 'w-1', 'w-2', 'w-3', 'main'], thread: [1, 2, 3, 4, 5] }, { name: ['main', null], thread: [5, null] }],
		{ key: [0, 1, 2, 3, 4], second: [0, 0, 1, 0, 0], total: [1, 2, 4, 8, 16] },
	);
	it('that are alike are one row until it is opened', () => {
		expect(groupThreads(threadsOf(both, 0), new Set()).map(({ name, threads }) => [name, threads])).toEqual([['w-*', [1, 2, 3, 4]], ['main', [5]]]);
		expect(groupThreads(threadsOf(both, 0), new Set(['w-*']))).toHaveLength(5);
		expect(threadsOf(both, 1)[1]).toEqual({ thread: null, name: NO_THREAD });
	});
	it('have a matrix that adds up', () => {
		const rows = groupThreads(threadsOf(both, 0), new Set());
		const columns = groupThreads(threadsOf(both, 1), new Set());
		expect(matrixOf(both, rows, columns, 'total')).toEqual([[11, 4], [16, 0]]);
	});
});

describe('call tree', () => {
	const flame = {
		names: ['all', 'main', 'a', 'b'], modules: [null, 'm', 'm', 'm'], plumbing: [false, false, false, true], id: ['0', '1', '2', '3'],
		parent: [-1, 0, 1, 1], name: [0, 1, 2, 3], bytes: [100, 100, 30, 60], own: [0, 5, 30, 60], blocks: [1, 1, 1, 1], leaked: [0, 0, 0, 0],
		age: [0, 0, 0, 0], rest: [0, 5, 0, 0], more: [0, 2, 0, 0], folded: [1, 1, 1, 1],
	} as unknown as Flame;
	it('opens down to the next fork', () => {
		const root = treeOf(flame);
		expect(downToFork(root)).toEqual(['0', '1']);
		expect(openAtFirst(root)).toEqual(['0', '1']);
	});
	it('has the largest first, and a row for what is left out', () => {
		const rows = rowsOf(treeOf(flame), new Set(['0', '1']));
		expect(rows.map(({ node, rest, level }) => [rest ? 'rest' : node.name, level])).toEqual([['all', 1], ['main', 2], ['b', 3], ['a', 3], ['rest', 3]]);
	});
	it('has as many rows as stacks are deep', () => {
		const deep = 30000;
		const many = { ...flame, parent: Array.from({ length: deep }, (_, i) => i - 1), name: Array(deep).fill(1), id: Array.from({ length: deep }, (_, i) => `${i}`) };
		for (const column of ['bytes', 'own', 'blocks', 'leaked', 'age', 'rest', 'more', 'folded'] as const) many[column] = Array(deep).fill(0);
		const root = treeOf(many);
		expect(rowsOf(root, new Set(many.id))).toHaveLength(deep);
	});
});

describe('processes', () => {
	const recording = (id: string, parent: string | null, secs: number, peak: number): Recording =>
		({ id, parent, timestamp: { secs, fract_nsecs: 0 }, runtime: { secs: 2, fract_nsecs: 0 }, peak, executable: id, cmdline: id, pid: 1 }) as Recording;
	const all = [recording('make', null, 10, 100), recording('cc', 'make', 11, 5000), recording('as', 'cc', 12, 10), recording('other', null, 1, 1)];
	it('are those of one run', () => {
		expect(familyOf(all, 'as').map(({ id }) => id)).toEqual(['make', 'cc', 'as']);
		expect(familyOf([recording('a', 'b', 0, 1), recording('b', 'a', 0, 1)], 'a').length).toBe(2);
		expect(familyOf(all, 'gone')).toEqual([]);
	});
	it('are a tree on one axis', () => {
		const tree = processRows(familyOf(all, 'cc'), false);
		expect(tree.rows.map(({ recording: { id }, level, start }) => [id, level, start])).toEqual([['make', 1, 0], ['cc', 2, 1e9], ['as', 3, 2e9]]);
		expect(tree.length).toBe(4e9);
	});
	it('that are small are one row', () => {
		const many = [...all, ...Array.from({ length: 80 }, (_, i) => recording(`sh${i}`, 'make', 11, 1))];
		const tree = processRows(familyOf(many, 'make'), false);
		expect([tree.rows.map(({ recording: { id } }) => id), tree.small.length]).toEqual([['make', 'cc'], 81]);
		expect(processRows(familyOf(many, 'make'), true).rows).toHaveLength(83);
	});
	it('add up at each moment', () => {
		expect(sumCurves([{ start: 0, length: 4, values: [1, 2] }, { start: 2, length: 2, values: [10] }], 4, 4)).toEqual([1, 12, 12, 12]);
	});
});

describe('source', () => {
	const table = (line: number[], bytes: number[]) => sums([{ name: line.map(String), file: ['a.c', 'a.c', 'b.c'], line }], { key: [0, 1, 2], bytes });
	const costs = costsOf(table([3, 5, 7], [1, 2, 4]), table([3, 5, 7], [10, 20, 40]), 'a.c', 'bytes');
	it('has the cost of each line of a file', () => {
		expect([...costs]).toEqual([[3, { own: 1, inclusive: 10 }], [5, { own: 2, inclusive: 20 }]]);
		expect(linesOf(null, costs).map(({ number }) => number)).toEqual([3, 5]);
	});
	it('keeps the cost of lines that the text has not any more', () => {
		expect(linesOf(['', '', 'x'], costs).map(({ number, text }) => [number, text])).toEqual([[1, ''], [2, ''], [3, 'x'], [5, null]]);
	});
	it('opens in an editor, and never as a script', () => {
		expect(editorLink('vscode://file/{path}:{line}', '/a b.c', 3)).toBe('vscode://file//a%20b.c:3');
		expect(['javascript:alert(1)', 'JavaScript:alert({line})', 'data:text/html,x', '', 'nonsense'].map((one) => editorLink(one, '/a', 1))).toEqual([null, null, null, null, null]);
	});
});

describe('stacks of reports', () => {
	const frame = (name: string, plumbing: boolean) => ({ function: name, short: name, file: null, line: null, module: null, plumbing });
	const report = { frames: [frame('main', false), frame('malloc', true)], stacks: [{ frame: 0, parent: null }, { frame: 1, parent: 0 }] };
	it('are innermost first, and called after the own code', () => {
		expect(framesOf(report, 1).map((one) => one.function)).toEqual(['malloc', 'main']);
		expect(ownOf(framesOf(report, 1))!.function).toBe('main');
		expect(framesOf(report, null)).toEqual([]);
	});
});
