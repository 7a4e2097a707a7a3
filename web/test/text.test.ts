import { describe, expect, test } from 'vitest';
import { exactly, shortName } from '../src/text/names';
import { sentenceParts } from '../src/text/sentence';
import { firstRow, HEIGHT_MAX, scrollHeight, scrollTo } from '../src/components/window';
import { addressText, lifetime, parseJump } from '../src/views/block_text';
import { changeWords } from '../src/views/change_table';
import { conditionOf } from '../src/views/site_key';

describe('short names', () => {
	test.each([
		['clang::driver::Driver::ExecuteCompilation(clang::driver::Compilation&)', 'Driver::ExecuteCompilation'],
		['std::vector<int, std::allocator<int> >::push_back(int&&)', 'vector::push_back'],
		['main', 'main'],
		['(anonymous namespace)::run() const', 'run'],
		['void render<int>(int)', 'render'],
		['operator new(unsigned long)', 'operator new'],
		['shop::operator<(a, b)', 'shop::operator<'],
		['[python3.11]+0x5842c1', '[python3.11]+0x5842c1'],
		['_start > … > handle(int)', '_start › … › handle'],
		['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
		['core::ptr::drop_in_place<alloc::vec::Vec<u8>>', 'ptr::drop_in_place'],
	])('%s', (name, short) => expect(shortName(name)).toBe(short));
	test('a pattern for exactly a name', () => expect('f(int*)').toMatch(new RegExp(exactly('f(int*)'))));
});

test('a sentence with its amounts and names marked is the same sentence', () => {
	const text = 'Most memory at 2.89 s: 83.4 MB live, of which 31.5 MB is one block of main (38 %).';
	const parts = sentenceParts(text, ['main', null]);
	expect(parts.map((part) => part.text).join('')).toBe(text);
	expect(parts.filter((part) => part.kind === 'amount').map((part) => part.text)).toEqual(['83.4 MB', '31.5 MB', '38 %']);
	expect(parts.filter((part) => part.kind === 'name').map((part) => part.text)).toEqual(['main']);
});

describe('rows of a long table', () => {
	test('short ones scroll by pixels', () => expect(firstRow(60, 240, 1000, 24)).toEqual({ first: 2, above: 12 }));
	test('the bar of ten million stands for numbers, to the last row', () => {
		const all = scrollHeight(10_000_000, 24);
		expect(all).toBe(HEIGHT_MAX);
		expect(firstRow(0, 240, 10_000_000, 24).first).toBe(0);
		expect(firstRow(all - 240, 240, 10_000_000, 24).first).toBe(9_999_990);
	});
	test.each([0, 5, 4_999_999, 9_999_990])('row %d is found again where it was scrolled to', (row) => {
		const { first } = firstRow(scrollTo(row, 240, 10_000_000, 24), 240, 10_000_000, 24);
		expect(Math.abs(first - row)).toBeLessThanOrEqual(1);
	});
});

describe('blocks', () => {
	test('what is jumped to', () => {
		expect(parseJump('1,204,551')).toEqual({ kind: 'number', row: 1204551 });
		expect(parseJump('7f8d50012a40')).toEqual({ kind: 'address', address: '0x7f8d50012a40' });
		expect(parseJump('1.4 s')).toEqual({ kind: 'time', moment: '1.4s' });
		expect(parseJump('soon')).toBeNull();
	});
	test('lifetimes keep their nanoseconds', () => {
		const time = (secs: number, fract_nsecs: number) => ({ secs, fract_nsecs });
		const block = { timestamp: time(1795331194, 999_999_999), deallocation: { timestamp: time(1795331195, 1) }, address_s: '00007F8D50012A40' };
		expect(lifetime(block as never)).toBe(2);
		expect(addressText(block as never)).toBe('7f8d50012a40');
	});
});

test('words of a change', () => {
	expect(changeWords({ before: 0, after: 5 })).toBe('new');
	expect(changeWords({ before: 5, after: 0 })).toBe('gone');
	expect(changeWords({ before: 100, after: 149 }).replace(/\u00a0/g, ' ')).toBe('+49 %');
});

test('the condition of a row', () => {
	expect(conditionOf('module', 'libc.so.6')).toEqual({ module_regex: '(^|/)libc\\.so\\.6$' });
	expect(conditionOf('site', '17')).toEqual({ backtraces: '17' });
});
