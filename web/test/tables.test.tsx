/* Tables whose rows are all in the document. */
import './browser';
import type { VNode } from 'preact';
import { expect, describe, test } from 'vitest';
import type { Lane, Space, SumsChange, SumsTable } from '../src/api/generated';
import { Rows, type Field } from '../src/components/rows';
import { FlameTable } from '../src/charts/flame/flame_table';
import { graphOf } from '../src/charts/flame/graph_data';
import { measure } from '../src/state/measure';
import { HOME } from '../src/state/place';
import { place } from '../src/state/state';
import { ChangeTable } from '../src/views/change_table';
import { keyOf, siteRow, toFunction, toStack } from '../src/views/site_key';
import { LaneTable } from '../src/views/space_lanes';
import { cells, drawn } from './drawn';

type Fruit = { name: string; count: number };
const FRUIT: Fruit[] = [{ name: 'apple', count: 3 }, { name: 'pear', count: 0 }];
const FIELDS: Field<Fruit>[] = [
	{ head: 'count', title: 'how many', cell: ({ count }) => count, attributes: ({ count }) => ({ class: count ? '' : 'none', title: `${count}` }) },
	{ head: 'fruit', text: true, class: 'wide', names: true, cell: ({ name }) => name },
];

describe('rows', () => {
	test('have a cell for each field, with its class, and a head', () => {
		expect(drawn(<Rows class="fit" fields={FIELDS} rows={FRUIT} rowClass={({ count }) => (count ? '' : 'muted')} />)).toBe(
			'<table class="rows fit"><thead><tr><th title="how many">count</th><th class="text wide">fruit</th></tr></thead><tbody>' +
				'<tr><td title="3">3</td><th scope="row" class="text wide">apple</th></tr>' +
				'<tr class="muted"><td class="none" title="0">0</td><th scope="row" class="text wide">pear</th></tr></tbody></table>',
		);
	});
	test('have no head without words for one, or one that is only read aloud', () => {
		expect(drawn(<Rows fields={[{ cell: ({ name }: Fruit) => name }]} rows={FRUIT} />)).not.toContain('<thead');
		expect(drawn(<Rows quiet fields={FIELDS} rows={FRUIT} />)).toContain('<thead class="visually-hidden">');
	});
	test('scroll sideways if they have a label', () => {
		expect(drawn(<Rows label="fruit" fields={FIELDS} rows={[]} />)).toMatch(/^<div class="scroll-x" tabIndex="0" role="region" aria-label="fruit"><table/);
	});
	test('end with what is left out, whose last cell takes the other columns', () => {
		const rest = (...given: string[]) => drawn(<Rows fields={FIELDS} rows={[]} rest={given} />).split('<tbody>')[1];
		expect(rest('2 more')).toBe('<tr class="muted"><td class="text" colSpan="2">2 more</td></tr></tbody></table>');
		expect(rest('2', 'more')).toBe('<tr class="muted"><td colSpan="1">2</td><td class="text wide" colSpan="1">more</td></tr></tbody></table>');
		expect(drawn(<Rows fields={FIELDS} rows={[]} rest={null} />)).toContain('<tbody></tbody>');
	});
	test('lead somewhere; a click on a link in a row is the link\'s', () => {
		place.value = HOME;
		const table = Rows({ fields: FIELDS, rows: FRUIT, to: ({ name }) => toFunction(name, 'leaked') }) as VNode<{ children: VNode<{ children: [VNode<{ onClick: (event: unknown) => void; class: string }>[]] }>[] }>;
		const row = table.props.children[1]!.props.children[0][1]!.props;
		const click = (link: object | null) => row.onClick({ target: { closest: () => link } });
		expect(row.class).toBe('link-row');
		click({});
		expect(place.value.page).toBe('overview');
		click(null);
		expect(place.value).toMatchObject({ page: 'sites', metric: 'leaked', view: { by: 'function', sel: 'pear' } });
		place.value = HOME;
	});
});

const table = (key: (number | null)[], names: (string | null)[], more: Partial<SumsTable> = {}) =>
	({ key, keys: [{ by: '', name: names, file: ['a.c', 'b.c'], line: [1, 2], call: null, thread: null, backtrace_id: [70, 71], least: null, largest: null }], ...more }) as SumsTable;

test('the key of a row of sums', () => {
	const sums = table([1, 0], ['first', 'second']);
	expect(keyOf(sums, 0)).toEqual({ name: 'second', file: 'b.c', line: 2, call: null, stack: 71, thread: null });
	expect(siteRow(sums, 1, 'site')).toEqual({ sel: '70', by: 'site', name: 'first', file: 'a.c', line: 1, call: null, row: 1, sums });
	const culled = table([null], ['first thread']);
	expect([keyOf(culled, 0).name, siteRow(culled, 0, 'thread').sel]).toEqual(['[culled]', '']);
	expect([siteRow(sums, 1, 'function').sel, siteRow(table([0], [null]), 0, 'module').sel]).toEqual(['first', '']);
	expect([toStack(70), toStack(null)].map(({ view }) => view)).toEqual([{ sel: '70' }, { sel: '' }]);
});

test('what changed: both sides, the change, and which part of before that is', () => {
	const before = table([0, null, 1], ['gone', 'same'], { bytes: [1000, 0, 500], rows: 3 });
	const after = table([null, 0, 1], ['new', 'same'], { bytes: [0, 2000, 750], rows: 5 });
	const change = { before, after, change: { bytes: [-1000, 2000, 250] } } as SumsChange;
	const drawing = <ChangeTable answer={change} measure={measure.value} />;
	expect(cells(drawing)).toEqual([
		['allocated by', 'before', 'after', 'change', '', '%'],
		['gone a.c:1', '1.00 KB', '0 B', '−1.00 KB', '', 'gone'],
		['new a.c:1', '0 B', '2.00 KB', '+2.00 KB', '', 'new'],
		['same b.c:2', '500 B', '750 B', '+250 B', '', '+50 %'],
	]);
	expect(drawn(drawing)).toContain('2 more rows changed less.');
	expect(cells(<ChangeTable answer={change} measure={measure.value} scale={2} />)[3]).toEqual(['same b.c:2', '1.00 KB', '750 B', '−250 B', '', '−25 %']);
});

test('lanes of the address space', () => {
	const lane = { kind: 'main_heap', number: 0, start: 0x5000, end: 0x9000, used: 4096, blocks: 1234, pages: 4, sparse_pages: 1 } as Lane;
	expect(cells(<LaneTable space={{ lanes: [lane] } as Space} />)[1]).toEqual(['main heap', '5000', '16.4 KB', '1,234', '4.10 KB', '4', '25 %', '1']);
});

test('a flame graph as a table: depth first, the widest first, below any node', () => {
	const flame = {
		metric: 'peak', names: ['all', 'main', 'a', 'b'], modules: [null, null, null, null], plumbing: [false, false, false, false], id: ['0', '1', '2', '3'],
		parent: [-1, 0, 1, 1], name: [0, 1, 2, 3], folded: [0, 0, 0, 0], bytes: [100, 100, 30, 70], own: [0, 0, 30, 70], blocks: [], leaked: [], age: [], rest: [], more: [],
		calls: null, temporary: null,
	};
	const rows = (root: number, sides?: { before: number[]; after: number[] }) =>
		cells(<FlameTable graph={graphOf(flame, sides)} root={root} format={String} onZoom={() => undefined} />);
	expect(rows(1)).toEqual([['function', 'amount', 'share', 'own'], ['main', '100', '100 %', '0'], ['b', '70', '70 %', '70'], ['a', '30', '30 %', '30']]);
	expect(rows(2, { before: [0, 0, 10, 0], after: [0, 0, 30, 0] })).toEqual([['function', 'before', 'after', 'change'], ['a', '10', '30', '+20']]);
});
