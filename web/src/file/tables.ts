/* Answers of /sums in the page as one file: what the server does with rows, done with those that it sent. */
import type { KeyTable, SumsAll, SumsTable } from '../api/generated';

const SUMS = ['bytes', 'blocks', 'leaked', 'total', 'calls', 'temporary', 'slack'] as const;

const at = <T,>(column: T[], rows: number[]): T[] => (column.length ? rows.map((row) => column[row]!) : []);

function sumOf(table: SumsTable, rows: number[]): SumsAll {
	const all = { ...table.all };
	for (const name of SUMS) all[name] = rows.reduce((sum, row) => sum + table[name][row]!, 0);
	return all;
}

/* What no column of rows is. */
const WHOLE = ['keys', 'all', 'spark_ns'];

/** Some rows of a table, in that order; `rows` and `all` stay. */
export function taken<T extends object>(table: T, rows: number[]): T {
	const column = (value: unknown) => (Array.isArray(value) ? at(value, rows) : value && typeof value === 'object' ? taken(value, rows) : value);
	return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, WHOLE.includes(name) ? value : column(value)])) as T;
}

/** Pages of one table as one. */
export function joined(pages: SumsTable[]): SumsTable {
	const [first, ...rest] = pages;
	return rest.filter((page) => page.key.length).reduce((table, page) => join(table, page), first!);
}

/* The second behind the first, column by column; what is no column is the first's. */
function behind<T>(first: T, second: T): T {
	if (Array.isArray(first)) return [...first, ...(second as unknown[])] as T;
	if (!first || typeof first !== 'object') return first;
	return Object.fromEntries(Object.entries(first).map(([name, value]) => [name, behind(value, second[name as keyof T])])) as T;
}

function join(table: SumsTable, page: SumsTable): SumsTable {
	const shift = (i: number, column: (number | null)[]) => column.map((key) => (key === null ? null : key + (table.keys[i]?.name.length ?? 0)));
	return {
		...behind(table, { ...page, key: shift(0, page.key), second: shift(1, page.second) }),
		keys: table.keys.map((one, i) => behind(one, page.keys[i]!)),
		spark_ns: table.spark_ns,
	};
}

const lowest = (column: (number | null)[]) => (row: number) => column[row] ?? -Infinity;

/* Where a key stands among its like: classes of sizes and times by the least that is in them, threads by their numbers. */
const placeOf = (keys: KeyTable, key: number | null): number => {
	const column = keys.least ?? keys.thread;
	return key === null ? Infinity : ((column ? column[key] : key) ?? Infinity);
};

/* What rows are ordered by. */
function valueOf(table: SumsTable, column: string): ((row: number) => number) | null {
	if (column === 'lifetime') return lowest(table.lifetimes.mean_ns);
	if (column === 'key') return (row) => placeOf(table.keys[0]!, table.key[row]!);
	const values = (table as unknown as Record<string, unknown>)[column];
	return Array.isArray(values) ? lowest(values as (number | null)[]) : null;
}

/* As numbers; Infinity is equal to itself. */
const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** The rows in that order. What is equal goes by all bytes, then by its key, as the server's. */
export function sorted(table: SumsTable, column: string, descends: boolean): SumsTable {
	const value = valueOf(table, column);
	if (!value) return table;
	const place = (row: number) => placeOf(table.keys[0]!, table.key[row]!);
	const ascending = (a: number, b: number) => compare(value(a), value(b)) || compare(table.total[a]!, table.total[b]!) || compare(place(a), place(b)) || a - b;
	const rows = [...table.key.keys()].sort((a, b) => (descends ? ascending(b, a) : ascending(a, b)));
	return taken(table, rows);
}

/** The rows whose first key is one that is wanted, as a table of these alone. */
export function kept(table: SumsTable, wanted: (key: number) => boolean): SumsTable {
	const rows = [...table.key.keys()].filter((row) => table.key[row] !== null && wanted(table.key[row]!));
	return { ...taken(table, rows), rows: rows.length, all: sumOf(table, rows) };
}

/* The keys of that numbers alone, in their order. */
function keysOf(keys: KeyTable, numbers: number[]): KeyTable {
	const some = <T,>(column: T[] | null) => column && at(column, numbers);
	return {
		...keys, name: at(keys.name, numbers), file: some(keys.file), line: some(keys.line), call: some(keys.call), thread: some(keys.thread),
		backtrace_id: some(keys.backtrace_id), site_id: some(keys.site_id), shape_id: some(keys.shape_id), weak_id: some(keys.weak_id),
		least: some(keys.least), largest: some(keys.largest),
	};
}

/** Rows of a table by two keys, added up by the second one. */
export function bySecond(narrow: SumsTable): SumsTable {
	const groups = new Map<number | null, number[]>();
	narrow.second.forEach((key, row) => groups.set(key, [...(groups.get(key) ?? []), row]));
	const lists = [...groups.entries()].sort(([a], [b]) => placeOf(narrow.keys[1]!, a) - placeOf(narrow.keys[1]!, b) || (a ?? 0) - (b ?? 0));
	const rows = lists.map(([, list]) => list);
	const added = taken(narrow, rows.map((list) => list[0]!));
	for (const name of [...SUMS, 'growth'] as const) added[name] = rows.map((list) => list.reduce((sum, row) => sum + narrow[name][row]!, 0));
	const least = (column: (number | null)[]) => rows.map((list) => list.reduce<number | null>((a, row) => (column[row] === null ? a : a === null ? column[row]! : Math.min(a, column[row]!)), null));
	const most = (column: (number | null)[]) => rows.map((list) => list.reduce<number | null>((a, row) => (column[row] === null ? a : Math.max(a ?? 0, column[row]!)), null));
	const { freed, mean_ns: mean, longest_ns: longest } = narrow.lifetimes;
	const counts = rows.map((list) => list.reduce((sum, row) => sum + freed[row]!, 0));
	return {
		...added, rows: rows.length, keys: [keysOf(narrow.keys[1]!, lists.flatMap(([key]) => (key === null ? [] : [key])))],
		key: lists.map(([key], i) => (key === null ? null : i)), second: [],
		first: least(narrow.first), last: most(narrow.last), own_peak: rows.map(() => null),
		lifetimes: {
			freed: counts, longest_ns: most(longest),
			mean_ns: rows.map((list, i) => (counts[i] ? Math.round(list.reduce((sum, row) => sum + freed[row]! * (mean[row] ?? 0), 0) / counts[i]!) : null)),
		},
	};
}
