/* A row of /sums, and the condition that chooses what is in it. */
import type { SumsTable } from '../api/generated';
import type { Metric } from '../state/place';
import type { Change } from '../state/state';
import { exactly } from '../text/names';

export type By = 'site' | 'function' | 'file' | 'module' | 'thread';

export const BYS: { value: By; text: string }[] = [
	{ value: 'site', text: 'sites' },
	{ value: 'function', text: 'functions' },
	{ value: 'file', text: 'files' },
	{ value: 'module', text: 'modules' },
	{ value: 'thread', text: 'threads' },
];

export interface SiteRow {
	/** What the address calls it: a backtrace_id, or a name. */
	sel: string;
	by: By;
	name: string | null;
	file: string | null;
	line: number | null;
	call: string | null;
	/** Its place in the columns of `sums`. */
	row: number;
	sums: SumsTable;
}

/** What a row is called, and where that is. */
export function keyOf(sums: SumsTable, row: number): Pick<SiteRow, 'name' | 'file' | 'line' | 'call'> & { stack: number | null; thread: number | null } {
	const keys = sums.keys[0]!;
	const key = sums.key[row] ?? -1;
	return {
		// No key: allocations that were only counted, by nobody knows which thread. As in reports.
		name: key < 0 ? '[culled]' : keys.name[key] ?? null, file: keys.file?.[key] ?? null, line: keys.line?.[key] ?? null, call: keys.call?.[key] ?? null,
		stack: keys.backtrace_id?.[key] ?? null, thread: keys.thread?.[key] ?? null,
	};
}

export function siteRow(sums: SumsTable, row: number, by: By): SiteRow {
	const { stack, thread, ...key } = keyOf(sums, row);
	const sel = sums.key[row] === null ? '' : by === 'site' ? String(stack ?? '') : by === 'thread' ? String(thread ?? key.name ?? '') : (key.name ?? '');
	return { ...key, sel, by, row, sums };
}

/** Sites, with a function opened. */
export const toFunction = (name: string | null, metric: Metric): Change => ({ page: 'sites', metric, view: { by: 'function', sel: name ?? '' } });

/** Sites, with a stack opened. */
export const toStack = (stack: number | null): Change => ({ page: 'sites', view: { sel: String(stack ?? '') } });

/** The condition for what a row counts; {}: there is none, as for code without a name. */
export function conditionOf(by: By, sel: string): Record<string, string> {
	switch (by) {
		case 'site':
			return { backtraces: sel };
		case 'function':
			return { allocated_by: exactly(sel) };
		case 'file':
			return { source_regex: exactly(sel) };
		case 'module':
			return { module_regex: `(^|/)${exactly(sel).slice(1)}` };
		case 'thread':
			return { thread: sel };
	}
}
