import { describe, expect, test } from 'vitest';
import type { Finding } from '../src/api/findings';
import { CLASSES, equalGains, leakWords, ofClass, timeToGigabyte } from '../src/views/leaks_classes';

const finding = (kind: string, bytes: number, numbers: Record<string, number>): Finding => ({
	kind, bytes, numbers, sentence: '', confidence: 'clear', conditions: {}, view: null, sort: null, function: 'f', short: 'f',
	file: null, line: null, module: null, stack: 1,
});

test('how long until a gigabyte', () => {
	expect(timeToGigabyte(1.3e6)).toBe('13 min');
	expect(timeToGigabyte(100e6)).toBe('less than a minute');
	expect(timeToGigabyte(1000)).toBe('12 days');
});

test('words of a class', () => {
	const { amount, words } = leakWords(finding('never_freed_grows', 7_160_000, { bytes_per_second: 1_300_000 }));
	expect(`${amount} ${words}`.replace(/\u00a0/g, ' ')).toBe('7.16 MB, +1.30 MB/s to the end: 1 GB in 13 min.');
});

test('what grows is ranked by its rate, other classes by bytes', () => {
	const slow = finding('never_freed_grows', 9e6, { bytes_per_second: 1e3 });
	const fast = finding('never_freed_grows', 1e6, { bytes_per_second: 1e6 });
	expect(ofClass([slow, fast], CLASSES[0]!)).toEqual([fast, slow]);
});

describe('rounds that keep the same', () => {
	test('are named', () => expect(equalGains([9, 218, 218, 219, 217, 218, 3])).toEqual({ rounds: 5, bytes: 218 }));
	test('are at least three', () => expect(equalGains([5, 5, 9, 9])).toBeNull());
	test('keep something', () => expect(equalGains([0, 0, 0, 0])).toBeNull());
});
