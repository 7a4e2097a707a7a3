import { describe, expect, test } from 'vitest';
import { commandOf, shellWord } from '../src/text/command';
import { conditionWords } from '../src/text/conditions';

const asked = { file: 'a.mallow', column: 'bytes', conditions: {} };

describe('what a view shows as a command', () => {
	test('words of a shell', () => {
		expect(shellWord('a.mallow')).toBe('a.mallow');
		expect(shellWord("^it's $HOME")).toBe(`'^it'\\''s $HOME'`);
	});
	test('pages', () => {
		expect(commandOf({ ...asked, page: 'overview' })).toBe('mallow report a.mallow');
		expect(commandOf({ ...asked, page: 'leaks' })).toBe('mallow report --sort leaked a.mallow');
		expect(commandOf({ ...asked, page: 'sites', by: 'function', conditions: { function_regex: '^json_' } })).toBe(
			"mallow report --by function --function-regex '^json_' a.mallow",
		);
	});
	test('a page is the view of a report', () => {
		expect(commandOf({ ...asked, page: 'tree' })).toBe('mallow report --tree a.mallow');
		expect(commandOf({ ...asked, page: 'churn' })).toBe('mallow report --by function --sort temporary a.mallow');
		expect(commandOf({ ...asked, page: 'threads', column: 'calls' })).toBe('mallow report --by thread --sort calls a.mallow');
		expect(commandOf({ ...asked, page: 'distributions', column: 'calls' })).toBe('mallow report --histogram size a.mallow');
	});
	test('several processes as one', () => {
		expect(commandOf({ ...asked, page: 'sites', by: 'function', merged: true })).toBe('mallow report --by function --merge a.mallow a.mallow.*');
	});
	test('export calls to another name', () => {
		expect(commandOf({ ...asked, page: 'flame', conditions: { from: '1ns', to: '2ns' } })).toBe(
			'mallow export --to flamegraph -o flame.svg --from 1ns --until 2ns a.mallow',
		);
	});
	test('a difference of two moments', () => {
		expect(commandOf({ ...asked, page: 'sites', conditions: { alive_at: '9ns', 'b.alive_at': '5ns', size_min: '1M' } })).toBe(
			'mallow diff --sort peak --size-min 1M a.mallow@5ns a.mallow@9ns',
		);
	});
});

test('chips', () => {
	expect(conditionWords('size_min', '1M')).toBe('size ≥ 1M');
	expect(conditionWords('function_regex', '^json_')).toBe('function ~ ^json_');
	expect(conditionWords('b.alive_at', '2000000000ns')).toBe('before: alive at 2.00\u00a0s');
});
