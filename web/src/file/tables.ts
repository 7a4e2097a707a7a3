/* Answers of /sums in the page as one file: what the server does with rows, done with those that it sent. */
import type { KeyTable, SumsAll, SumsTable } from '../api/generated';

const SUMS = ['bytes', 'blocks', 'leaked', 'total', 'calls', 'temporary', 'slack'] as const;

const at = <T,>(column: T[], rows: number[]): T[] => (column.length ? rows.map((row) => column[row]!) : []);

function sumOf(table: SumsTable, rows: number[]): SumsAll {
	const all = { ...table.all };
	for (const name of SUMS) all[name] = rows.reduce((sum, row) => sum + table[name][row]!, 0);
	return all;
}

/** Some rows of a table, in that order; `rows` and `all` stay. */
export function taken(table: SumsTable, rows: number[]): SumsTable {
	const { lifetimes, shapes, chains } = table;
	return {
		...table,
		key: at(table.key, rows), second: at(table.second, rows),
		bytes: at(table.bytes, rows), blocks: at(table.blocks, rows), leaked: at(table.leaked, rows), total: at(table.total, rows),
		calls: at(table.calls, rows), temporary: at(table.temporary, rows), slack: at(table.slack, rows),
		own_peak: at(table.own_peak, rows), first: at(table.first, rows), last: at(table.last, rows),
		growth: at(table.growth, rows), curve: at(table.curve, rows),
		lifetimes: { freed: at(lifetimes.freed, rows), mean_ns: at(lifetimes.mean_ns, rows), longest_ns: at(lifetimes.longest_ns, rows) },
		chains: chains && {
			steps: at(chains.steps, rows), copied: at(chains.copied, rows), ended: at(chains.ended, rows), reserve: at(chains.reserve, rows), covered: at(chains.covered, rows),
		},
		shapes: shapes && {
			shape: at(shapes.shape, rows), trust: at(shapes.trust, rows), since_ns: at(shapes.since_ns, rows),
			until_ns: at(shapes.until_ns, rows), steps: at(shapes.steps, rows), rate: at(shapes.rate, rows),
		},
	};
}

/** Pages of one table as one. */
export function joined(pages: SumsTable[]): SumsTable {
	const [first, ...rest] = pages;
	return rest.filter((page) => page.key.length).reduce((table, page) => join(table, page), first!);
}

function join(table: SumsTable, page: SumsTable): SumsTable {
	const keys = table.keys.map((one, i) => {
		const other = page.keys[i]!;
		const both = <T,>(a: T[] | null, b: T[] | null) => a && [...a, ...(b ?? [])];
		return {
			...one, name: [...one.name, ...other.name], file: both(one.file, other.file), line: both(one.line, other.line),
			call: both(one.call, other.call), thread: both(one.thread, other.thread),
			backtrace_id: both(one.backtrace_id, other.backtrace_id), least: both(one.least, other.least), largest: both(one.largest, other.largest),
		};
	});
	const shift = (i: number, column: (number | null)[]) => column.map((key) => (key === null ? null : key + table.keys[i]!.name.length));
	// Rows behind the first table's, in one pass over both.
	const rows = [...table.key.keys()];
	const whole = taken(table, rows);
	const add = <T,>(into: T[], more: T[]) => [...into, ...more];
	for (const name of [...SUMS, 'own_peak', 'first', 'last', 'growth', 'curve'] as const)
		(whole as unknown as Record<string, unknown[]>)[name] = add(table[name] as unknown[], page[name] as unknown[]);
	return {
		...whole, keys, key: add(table.key, shift(0, page.key)), second: add(table.second, page.keys[1] ? shift(1, page.second) : page.second),
		lifetimes: {
			freed: add(table.lifetimes.freed, page.lifetimes.freed), mean_ns: add(table.lifetimes.mean_ns, page.lifetimes.mean_ns),
			longest_ns: add(table.lifetimes.longest_ns, page.lifetimes.longest_ns),
		},
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
		backtrace_id: some(keys.backtrace_id), least: some(keys.least), largest: some(keys.largest),
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
