import { describe, expect, test } from 'vitest';
import { formatBytes, formatChange, formatCount, formatPercent, formatTime, roundText } from '../src/text/units';

const plain = (text: string) => text.replace(/\u00a0/g, ' ');

// The same numbers as the unit tests of src/report/words/format.c expect (tests/report/format_test.c).
describe('numbers are those of the command line', () => {
	test.each([[0, '0 B'], [999, '999 B'], [1000, '1.00 KB'], [9994, '9.99 KB'], [9995, '10.0 KB'], [99950, '100 KB'], [999_600, '1.00 MB'], [83_400_000, '83.4 MB']])(
		'%d bytes', (value, text) => expect(plain(formatBytes(value))).toBe(text),
	);
	test.each([[0, '0'], [1234567, '1,234,567'], [9999999, '9,999,999'], [10000000, '10.0 M']])(
		'a count of %d', (value, text) => expect(plain(formatCount(value))).toBe(text),
	);
	test.each([[312_000, '312 µs'], [2_892_663_252, '2.89 s'], [59_994_000_000, '60.0 s'], [60_000_000_000, '1m00s'], [3_661_000_000_000, '1h01m01s']])(
		'%d ns', (value, text) => expect(plain(formatTime(value))).toBe(text),
	);
	test('shares and changes', () => {
		expect(plain(formatPercent(38, 100))).toBe('38 %');
		expect(plain(formatPercent(1, 10_000))).toBe('<0.1 %');
		expect(plain(formatPercent(0, 0))).toBe('0 %');
		expect(plain(formatChange(-1_100_000, formatBytes))).toBe('\u22121.10 MB');
	});
	test('round numbers of axes', () => {
		expect(roundText('10.0 MB')).toBe('10 MB');
		expect(roundText('2.50 s')).toBe('2.5 s');
		expect(roundText('100 ms')).toBe('100 ms');
	});
});
