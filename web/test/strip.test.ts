import { describe, expect, test } from 'vitest';
import { dragged } from '../src/charts/strip/drag';
import { placeFlags, snap } from '../src/charts/strip/flags';
import { askedSteps, nearestKnown, nearestStep, rateCurves, resample, sampledSteps, stacked, stripCurves } from '../src/charts/strip/strip_data';

describe('curves', () => {
	test('samples are steps: nobody saw what was between two', () => {
		expect([...resample([10, 20], [100, 200], [5, 10, 15, 20, 25])]).toEqual([100, 100, 100, 200, 200]);
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

const steps = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];
const zero = steps.map(() => 0);
const memory = { usual_ns: 900, at_ns: [100, 1000], virtual_size: [], resident: [50, 50], anonymous: [10, 10], file: [1, 1], shared: [0, 0], swap: [0, 0] };
const series = {
	start_ns: 0, end_ns: 1000, late_ns: 1, at_ns: steps, live_last: steps.map(() => 90), live_most: zero, live_slack: zero,
	live_blocks: zero, allocated_bytes: zero, allocated_blocks: zero, freed_bytes: zero, freed_blocks: zero, curves: [], memory,
	peak: { at_ns: 0, bytes: 0, blocks: 0, thread: null, backtrace_id: null },
};

test('untouched memory is only known near a sample', () => {
	expect([...stripCurves(series, true).untouched]).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
});

test('the resident line is only drawn between samples that are near each other', () => {
	expect([...stripCurves(series, true).line!.known!]).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
	const known = (usual_ns: number, at_ns: number[], run = 1000) => [...sampledSteps({ usual_ns, at_ns }, steps, run)];
	expect(known(100, [100, 200, 300, 800, 900])).toEqual([1, 1, 1, 0, 0, 0, 0, 1, 1, 1]);
	expect(known(100, steps)).toEqual(steps.map(() => 1));
	expect(known(70, [450, 520])).toEqual([0, 1, 1, 1, 1, 1, 1, 0, 0, 0]);
	// A part of a long run, between two samples: what is usual is that of the whole.
	expect(known(10, [100, 1000], 100_000)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
	expect(known(900, [100, 1000], 100_000)).toEqual(steps.map(() => 1));
});

test('bands that are made of samples are known where the line is', () => {
	expect(stripCurves(series, true).bands.filter(({ sampled }) => sampled).map(({ name }) => name)).toEqual(['resident, not handed out', 'files and code']);
});

test('calls a second are those of the step, which may be longer or shorter than others', () => {
	const { bands, line, format } = rateCurves({ ...series, at_ns: [100, 150], allocated_blocks: [2, 3], freed_blocks: [0, 1] });
	expect([...bands[0]!.values]).toEqual([2e7, 6e7]);
	expect([...line!.values]).toEqual([0, 2e7]);
	const many = Array.from({ length: 500 }, (_, i) => i + 1);
	const joined = rateCurves({ ...series, at_ns: many, allocated_blocks: many.map(() => 1), freed_blocks: many });
	expect(joined.x.length).toBe(167);
	expect(joined.x[166]).toBe(500e-9);
	expect([...new Set(joined.bands[0]!.values)]).toEqual([1e9]);
	expect(joined.line!.values[1]).toBe(5e9);
	expect(format(2e7).replace('\u00a0', ' ')).toBe('20.0 M/s');
});

describe('pages kept over the run', () => {
	test('is asked at 24 steps, the last one among them', () => {
		expect(askedSteps(1024)).toHaveLength(24);
		expect(askedSteps(1024).at(-1)).toBe(1023);
		expect(askedSteps(3)).toEqual([0, 1, 2]);
		expect(askedSteps(0)).toEqual([]);
	});
	test('is told where it is known', () => {
		expect(nearestKnown([null, 1, null, null, 2], 3)).toBe(4);
		expect(nearestKnown([null, 1, null, null, null], 3)).toBe(1);
		expect(nearestKnown([null, null], 1)).toBe(-1);
	});
});
