/* A row of /sums, and the condition that chooses what is in it. */
import type { SumsTable } from '../api/generated';
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

export function siteRow(sums: SumsTable, row: number, by: By): SiteRow {
	const keys = sums.keys[0]!;
	const key = sums.key[row] ?? 0;
	const name = keys.name[key] ?? null;
	const id = keys.backtrace_id?.[key];
	const thread = keys.thread?.[key];
	const sel = by === 'site' ? String(id ?? '') : by === 'thread' ? String(thread ?? name ?? '') : (name ?? '');
	return { sel, by, name, file: keys.file?.[key] ?? null, line: keys.line?.[key] ?? null, call: keys.call?.[key] ?? null, row, sums };
}

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
