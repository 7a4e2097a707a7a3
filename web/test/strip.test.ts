import { describe, expect, test } from 'vitest';
import { dragged } from '../src/charts/strip/drag';
import { placeFlags, snap } from '../src/charts/strip/flags';
import { nearestStep, resample, stacked } from '../src/charts/strip/strip_data';

describe('curves', () => {
	test('samples are lines between them, and stay beyond their ends', () => {
		expect([...resample([10, 20], [100, 200], [5, 10, 15, 20, 25])]).toEqual([100, 100, 150, 200, 200]);
	});
	test('bands lie one on the other', () => {
		const band = (values: number[]) => ({ colour: '', name: '', values: Float64Array.from(values) });
		expect(stacked([band([1, 2]), band([3, 4]), band([5, 6])]).map((edge) => [...edge])).toEqual([[1, 2], [4, 6], [9, 12]]);
	});
	test('the nearest step', () => {
		expect([0, 1.4, 1.6, 99].map((at) => nearestStep([0, 1, 2, 3], at))).toEqual([0, 1, 2, 3]);
	});
});

describe('flags', () => {
	test('of labels that collide the rightmost go', () => {
		const placed = placeFlags([{ at: 0, text: 'start-up' }, { at: 10, text: 'report' }, { at: 50, text: 'done' }], 0, 100, 300);
		expect(placed.map((flag) => flag.labelled)).toEqual([true, false, true]);
	});
	test('snap within reach', () => {
		expect(snap(96, [100, 200], 6)).toBe(100);
		expect(snap(90, [100, 200], 6)).toBe(90);
	});
});

describe('drags', () => {
	const before = { mode: 'kept', from: 20, to: 40 } as const;
	test('a new range is in order and inside the run', () => {
		expect(dragged({ hold: 'new', start: 50, before: null, moved: true }, -5, 100, 'grew')).toEqual({ from: 0, to: 50, mode: 'grew' });
	});
	test('the middle keeps its length at the ends', () => {
		expect(dragged({ hold: 'middle', start: 30, before, moved: true }, 130, 100, 'kept')).toEqual({ from: 80, to: 100, mode: 'kept' });
	});
	test('an edge that passes the other becomes it', () => {
		expect(dragged({ hold: 'from', start: 20, before, moved: true }, 70, 100, 'kept')).toEqual({ from: 40, to: 70, mode: 'kept' });
	});
});
