import { describe, expect, test } from 'vitest';
import { CLASSES, equalGains, leakWords, ofClass, timeToGigabyte, type Leak } from '../src/views/leaks_classes';

const leak = (shape: string, bytes: number, more: Partial<Leak> = {}): Leak => ({
	shape, bytes, trust: 'clear', name: 'f', file: null, line: null, rate: 0, since: 0, until: 0, steps: 1, curve: [], ...more,
});
const said = (one: Leak) => {
	const { amount, words } = leakWords(one);
	return `${amount} ${words}`.replace(/\u00a0/g, ' ');
};

test('how long until a gigabyte', () => {
	expect(timeToGigabyte(1.3e6)).toBe('13 min');
	expect(timeToGigabyte(100e6)).toBe('less than a minute');
	expect(timeToGigabyte(1000)).toBe('12 days');
});

test('words of a class', () => {
	expect(said(leak('grows', 7_160_000, { rate: 1_300_000 }))).toBe('7.16 MB, +1.30 MB/s to the end: 1 GB in 13 min.');
	expect(said(leak('flat', 4e6, { since: 1.1e9 }))).toBe('4.00 MB since 1.10 s, not growing: a cache?');
	expect(said(leak('once', 73e3))).toBe('73.0 KB since the start, once.');
	expect(said(leak('late', 73e3, { since: 2e9 }))).toBe('73.0 KB since 2.00 s: perhaps only not freed yet.');
	expect(said(leak('stopped', 73e3, { until: 2e9 }))).toBe('73.0 KB grew until 2.00 s, then stopped.');
	expect(said(leak('steps', 73e3, { steps: 3 }))).toBe('73.0 KB in 3 steps.');
});

test('what grows is ranked by its rate, other classes by bytes', () => {
	const slow = leak('grows', 9e6, { rate: 1e3 });
	const fast = leak('grows', 1e6, { rate: 1e6 });
	expect(ofClass([slow, fast], CLASSES[0]!)).toEqual([fast, slow]);
	expect(ofClass([leak('once', 1), leak('flat', 5), leak('once', 2)], CLASSES[5]!).map(({ bytes }) => bytes)).toEqual([2, 1]);
});

describe('rounds that keep the same', () => {
	test('are named', () => expect(equalGains([9, 218, 218, 219, 217, 218, 3])).toEqual({ rounds: 5, bytes: 218 }));
	test('are at least three', () => expect(equalGains([5, 5, 9, 9])).toBeNull());
	test('keep something', () => expect(equalGains([0, 0, 0, 0])).toBeNull());
});
