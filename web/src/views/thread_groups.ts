/* Threads that are alike are one row until it is opened: worker-0 to worker-31. */
import type { SumsTable } from '../api/generated';
import type { SumColumn } from '../charts/bars';

/** So many threads with the same name but for its numbers are a group. */
const ALIKE = 4;

export interface ThreadGroup {
	/** What the address calls it: the number of a thread, or the name of a group. */
	key: string;
	name: string;
	/** Thread numbers; null: no thread, as of what was never freed. */
	threads: (number | null)[];
	/** One of many. */
	group: boolean;
}

/** The number (tid) of a thread that has a name, too. */
export const tidOf = ({ group, name, threads: [thread] }: ThreadGroup): string =>
	group || thread === null || thread === undefined || name === String(thread) ? '' : String(thread);

export const NO_THREAD = 'no thread';

const patternOf = (name: string): string => name.replace(/\d+/g, '*');

/** Groups in the order of their first thread. `open`: names of groups that are shown thread by thread. */
export function groupThreads(threads: { thread: number | null; name: string }[], open: Set<string>): ThreadGroup[] {
	const alike = new Map<string, number>();
	for (const { name } of threads) alike.set(patternOf(name), (alike.get(patternOf(name)) ?? 0) + 1);
	const groups = new Map<string, ThreadGroup>();
	for (const { thread, name } of threads) {
		const pattern = patternOf(name);
		const grouped = thread !== null && pattern !== name && (alike.get(pattern) ?? 0) >= ALIKE && !open.has(pattern);
		const key = grouped ? pattern : String(thread ?? NO_THREAD);
		const group = groups.get(key);
		if (group) group.threads.push(thread);
		else groups.set(key, { key, name: grouped ? pattern : name, threads: [thread], group: grouped });
	}
	return [...groups.values()];
}

/** Who is in a table of keys by thread or free_thread. */
export function threadsOf(sums: SumsTable, which: 0 | 1): { thread: number | null; name: string }[] {
	const keys = sums.keys[which];
	return (keys?.name ?? []).map((name, i) => {
		const thread = keys?.thread?.[i] ?? null;
		return { thread, name: thread === null ? NO_THREAD : (name ?? String(thread)) };
	});
}

/** What each group allocated and each other one freed: `at(row, column)`. */
export function matrixOf(sums: SumsTable, rows: ThreadGroup[], columns: ThreadGroup[], column: SumColumn): number[][] {
	const index = (groups: ThreadGroup[]) => new Map(groups.flatMap((group, i) => group.threads.map((thread) => [thread, i])));
	const rowOf = index(rows);
	const columnOf = index(columns);
	const matrix = rows.map(() => columns.map(() => 0));
	sums.key.forEach((key, i) => {
		const x = columnOf.get(sums.keys[1]?.thread?.[sums.second[i] ?? -1] ?? null);
		const y = rowOf.get(sums.keys[0]?.thread?.[key ?? -1] ?? null);
		if (x !== undefined && y !== undefined) matrix[y]![x]! += sums[column][i] ?? 0;
	});
	return matrix;
}
