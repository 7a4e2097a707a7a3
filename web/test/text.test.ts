import './browser';
import { describe, expect, test } from 'vitest';
import { afterScope, exactly, programName, shortName } from '../src/text/names';
import { fileName, tellApart } from '../src/components/site_name';
import { sentenceParts } from '../src/text/sentence';
import { firstRow, HEIGHT_MAX, scrollHeight, scrollTo } from '../src/components/window';
import { addressText, lifetime, parseJump } from '../src/views/block_text';
import { changeWords } from '../src/views/change_table';
import { onlyOf } from '../src/views/flame_pane';
import { conditionOf } from '../src/views/site_key';
import examples from '../../tests/unit/short_names.def?raw';

describe('short names', () => {
	// The examples that the text report is tested with: SHORT_NAME("name", "usual", "first" or NULL).
	const table = examples.replace(/\/\*[^]*?\*\//g, '');
	const rows = [...table.matchAll(/^SHORT_NAME\(((?:"(?:[^"\\]|\\.)*"|[^"])*?)\)$/gm)].map(([, row]) =>
		row!.match(/(?:"(?:[^"\\]|\\.)*"\s*)+|NULL/g)!.map((field) => field.match(/"(?:[^"\\]|\\.)*"/g)?.map((part) => JSON.parse(part) as string).join('') ?? null));
	test('all examples are read', () => expect(rows).toHaveLength(table.match(/SHORT_NAME/g)!.length));
	test.each(rows)('%s', (name, usual) => expect(shortName(name!)).toBe(usual));
	test.each([
		['[python3.11]+0x5842c1', '[python3.11]+0x5842c1'],
		['_start > … > A::handle(int)', '_start › … › A::handle'],
		['f(int) [.part.0] [libz.so]', 'f [.part.0]'],
		['LazyCompile:~f (x) /a.js:1', 'LazyCompile:~f (x) /a.js:1'],
		['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
		['<module> [shop/__init__.py] > … > import email.message [item.py]', '<module> shop/__init__.py › … › import email.message'],
	])('%s, which no demangler writes', (name, short) => expect(shortName(name)).toBe(short));
	test('lists within lists, more than there may ever be', () =>
		expect(shortName('a<'.repeat(20000) + '>'.repeat(20000)).length).toBeLessThan(200));
	test.each([
		['a::b::f', 'b::f'],
		['(anon)::f', 'f'],
		['main::{lambda}', ''],
		['std::map<a::b>::f', 'map<a::b>::f'],
		['map<a::b>::f', ''],
	])('%s without its first scope', (name, rest) => expect(afterScope(name)).toBe(rest));
	test.each([
		['/usr/bin/python3.11 -X dev -u app/main.py -m x', 'main.py'],
		['/opt/python3 -m flask run', 'flask'],
		['/usr/bin/python3.11 -c pass', 'python3.11'],
		['/usr/bin/python3', 'python3'],
		['/srv/pythonic app.py', 'pythonic'],
		['/usr/bin/php8.2 -d memory_limit=1G bin/shop.php -r', 'shop.php'],
		['/usr/bin/php8.2 -r echo', 'php8.2'],
		['/usr/bin/ruby3.1 -r json -w worker.rb', 'worker.rb'],
	])('%s is called %s', (command, name) => expect(programName(command.split(' ')[0]!, command.split(' '))).toBe(name));
	test('a pattern for exactly a name', () => expect('f(int*)').toMatch(new RegExp(exactly('f(int*)'))));
});

test.each([
	['/srv/users/models.py', 'users/models.py', 'users/models.py'],
	['/srv/users/models.py', 'models.py', 'models.py'],
	['/src/inflate.c', 'libz.so.1', 'inflate.c'],
	['/srv/users/__init__.py', null, 'users/__init__.py'],
	['app.py', undefined, 'app.py'],
])('%s of %s is called %s', (file, module, name) => expect(fileName(file, module)).toBe(name));

test('files of one name are told apart', () => {
	const paths = ['/srv/a/models.py', '/srv/b/models.py', '/usr/b/models.py', '/srv/app.py', 'models.py', '[python3.11]'];
	expect([...tellApart(paths).values()]).toEqual(['a/models.py', 'srv/b/models.py', 'usr/b/models.py', 'app.py', 'models.py', '[python3.11]']);
});

test.each([
	['load [users/models.py]', { function_regex: '^load$', module_regex: '(^|/)users/models\\.py$' }],
	['main', { function_regex: '^main$' }],
	['f(int*) [.part.0]', { function_regex: '^f\\(int\\*\\) \\[\\.part\\.0\\]$' }],
	['operator new[](unsigned long) [libnew.so]', { function_regex: '^operator new\\[\\]\\(unsigned long\\)$', module_regex: '(^|/)libnew\\.so$' }],
])('only stacks with %s', (label, conditions) => expect(onlyOf(label)).toEqual(conditions));

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
