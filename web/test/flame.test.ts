import { describe, expect, test } from 'vitest';
import type { Flame } from '../src/api/generated';
import { changeStep, moduleOrder } from '../src/charts/flame/colours';
import { byName, depths, graphOf, matching, withPath } from '../src/charts/flame/graph_data';
import { coverOf } from '../src/charts/flame/use_cover';
import { frameAt, layOut, nodeOf, pathTo } from '../src/charts/flame/layout';

/* all 100 > main 90 (own 10) > parse 60, read 20; and libc 10 of which 4 were left out. */
const flame: Flame = {
	metric: 'peak',
	names: ['all', 'main', 'parse', 'read', 'start > call'],
	modules: [null, 'server', 'server', 'libstdc++.so.6', 'libc.so.6'],
	plumbing: [false, false, false, true, true],
	id: ['0.0', '1.1', '2.2', '3.3', '4.4'],
	parent: [-1, 0, 1, 1, 0],
	name: [0, 1, 2, 3, 4],
	folded: [1, 1, 3, 1, 2],
	bytes: [100, 90, 60, 20, 10],
	own: [0, 10, 60, 20, 6],
	blocks: [10, 9, 6, 2, 1],
	leaked: [0, 0, 0, 0, 0],
	age: [1, 1, 1, 1, 1],
	rest: [0, 0, 0, 0, 4],
	more: [0, 0, 0, 0, 2],
	calls: null,
	temporary: null,
};

const graph = graphOf(flame);
const layout = layOut(graph.nodes);
const count = flame.parent.length;

describe('the layout', () => {
	test('has every byte of a node below it: children, own, and what was left out', () => {
		for (let node = 0; node < count; node++) {
			const below = layout.rows[layout.depth[node]! + 1] ?? new Int32Array();
			const inside = [...below].filter((frame) => (frame < count ? flame.parent[frame] === node : nodeOf(layout, frame) === node));
			if (!inside.length) continue;
			const width = inside.reduce((sum, frame) => sum + layout.width[frame]!, 0);
			expect(width).toBeCloseTo(layout.width[node]!, 12);
		}
	});
	test('puts the widest first, own after children, the remainder last', () => {
		expect([...layout.rows[1]!]).toEqual([1, 4]);
		expect([...layout.rows[2]!]).toEqual([2, 3, count + 1, count + 4, 2 * count + 4]);
	});
	test('knows what is at a place', () => {
		expect(frameAt(layout, 0, 0.99)).toBe(0);
		expect(frameAt(layout, 2, 0.7)).toBe(3);
		expect(frameAt(layout, 2, 0.85)).toBe(count + 1);
		expect(frameAt(layout, 3, 0.5)).toBe(-1);
	});
	test('leads back', () => expect(pathTo(flame.parent, 3)).toEqual([0, 1, 3]));
	test('of nothing is empty', () => expect(layOut({ parent: [], value: [], own: [], rest: [] }).rows).toEqual([]));
	test('of a million nodes takes less than a worker would be missed for', () => {
		const many = 1_000_000;
		const parent = Int32Array.from({ length: many }, (_, i) => (i ? (i - 1) >> 2 : -1));
		const value = Float64Array.from({ length: many }, (_, i) => many - i);
		const zero = new Float64Array(many);
		const laid = layOut({ parent, value, own: zero, rest: zero });
		expect(laid.rows.reduce((sum, row) => sum + row.length, 0)).toBe(many);
	});
});

describe('what can be read off a graph', () => {
	test('matches are of names, whatever the case', () => expect([...matching(graph, 'PARSE')!]).toEqual([0, 0, 1, 0, 0]));
	test('nothing is searched for', () => expect(matching(graph, '')).toBeNull());
	test('rows, and frames without folds', () => expect(depths(flame)).toEqual({ rows: 3, frames: 5 }));
	test('a difference lies alike on both sides', () => {
		const sorted = byName(graphOf(flame, { before: [1, 2, 3, 4, 5], after: [5, 4, 3, 2, 1] }));
		expect(sorted.flame.name.map((name) => flame.names[name])).toEqual(['all', 'main', 'start > call', 'parse', 'read']);
		expect(sorted.sides!.before).toEqual([1, 2, 5, 3, 4]);
	});
	test('a subtree hangs below the path to it, as wide as the root', () => {
		const sub: Flame = { ...flame, id: ['2.2'], parent: [-1], name: [2], folded: [1], bytes: [60], own: [60], blocks: [6], leaked: [0], age: [1], rest: [0], more: [0] };
		const whole = withPath(graph, 2, sub);
		expect(whole.path).toBe(2);
		expect(whole.flame.parent).toEqual([-1, 0, 1]);
		expect([...(whole.nodes.value as number[])]).toEqual([60, 60, 60]);
		expect(whole.flame.bytes).toEqual([100, 90, 60]);
	});
});

describe('colours', () => {
	test('first the module with most of its own, libstdc++ second, libc third', () => {
		expect(moduleOrder(flame).slice(0, 3)).toEqual(['server', 'libstdc++.so.6', 'libc.so.6']);
	});
	test.each([[10, 3], [1, 2], [0.1, 1], [0.09, 0], [-10, -3], [0, 0]])('a change of %d of 100 is step %d', (change, step) => {
		expect(changeStep(change, 100)).toBe(step);
	});
});

describe('the canvas covers', () => {
	test('what is seen and a margin', () => expect(coverOf({ top: 1000, bottom: 1900 }, 20000, null)).toEqual({ top: 680, bottom: 2220 }));
	test('no more than there is', () => {
		expect(coverOf({ top: -300, bottom: 600 }, 400, null)).toEqual({ top: 0, bottom: 400 });
		expect(coverOf({ top: 5000, bottom: 5900 }, 400, null)).toEqual({ top: 80, bottom: 400 });
	});
	test('the same while that suffices', () => {
		const before = { top: 680, bottom: 2220 };
		expect(coverOf({ top: 700, bottom: 1600 }, 20000, before)).toBe(before);
		expect(coverOf({ top: 600, bottom: 1500 }, 20000, before)).toEqual({ top: 280, bottom: 1820 });
		expect(coverOf({ top: 700, bottom: 1600 }, 1000, before)).toEqual({ top: 380, bottom: 1000 });
	});
});
