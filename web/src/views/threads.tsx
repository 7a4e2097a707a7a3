/* Who allocates, and who frees for whom. */
import { useMemo, useState } from 'preact/hooks';
import type { SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import type { SumColumn } from '../charts/bars';
import { Spark } from '../charts/spark';
import { Share } from '../components/amount';
import { Nothing } from '../components/nothing';
import { Rows, type Field } from '../components/rows';
import { Shown, useSeen } from '../components/shown';
import { liveTable } from '../state/limits';
import { measure } from '../state/measure';
import { dataPath, linkTo, place, plainConditions } from '../state/state';
import { formatBytes, formatCount, formatPercent } from '../text/units';
import { metricWords } from './moment_words';
import { groupThreads, matrixOf, threadsOf, tidOf, type ThreadGroup } from './thread_groups';
import '../styles/threads.css';

const SPARK_POINTS = 48;
const SHOWN = 40;

/* Of what a thread allocated all counts, not what happens to live at the peak. */
function allocatedColumn(): SumColumn {
	const { column } = measure.value;
	if (liveTable.value) return column;
	return column === 'bytes' ? 'total' : column === 'blocks' ? 'calls' : column;
}

const WORDS: Record<SumColumn, string> = {
	bytes: 'allocated', total: 'allocated', blocks: 'blocks', calls: 'blocks', temporary: 'temporary calls', slack: 'slack', leaked: 'never freed',
};

interface Sides {
	self: number;
	others: number;
	never: number;
	all: number;
}

/* What became of what a group allocated. */
function sidesOf(group: ThreadGroup, row: number[], columns: ThreadGroup[]): Sides {
	const sides: Sides = { self: 0, others: 0, never: 0, all: 0 };
	row.forEach((value, i) => {
		const column = columns[i]!;
		sides.all += value;
		if (column.threads[0] === null) sides.never += value;
		else if (column.key === group.key || column.threads.some((thread) => group.threads.includes(thread))) sides.self += value;
		else sides.others += value;
	});
	return sides;
}

/** "5 threads; worker-* allocated 74 % of 328 MB; drain freed 137 MB that others allocated." */
export function sentence(rows: ThreadGroup[], columns: ThreadGroup[], matrix: number[][], count: number, column: SumColumn): string {
	const sums = matrix.map((row) => row.reduce((sum, value) => sum + value, 0));
	const whole = sums.reduce((sum, value) => sum + value, 0);
	const { format } = measure.value;
	const threads = `${formatCount(count)} thread${count === 1 ? '' : 's'}`;
	const parts = [liveTable.value ? `${format(whole)} ${metricWords()} of ${threads}` : `${threads} allocated ${format(whole)}${column === 'total' ? '' : ` ${WORDS[column]}`}${place.value.brush?.mode === 'freed' ? ' of what was freed here' : ''}`];
	if (!whole) return `${parts[0]}.`;
	const first = sums.indexOf(Math.max(...sums));
	if (rows.length > 1) parts.push(`${rows[first]!.name} ${formatPercent(sums[first]!, whole)} of it`);
	if (liveTable.value) return `${parts.join('; ')}. Who freed for whom a live table does not know.`;
	let most = { value: 0, column: -1 };
	columns.forEach((freeing, x) => {
		if (freeing.threads[0] === null) return;
		const value = matrix.reduce((sum, row, y) => sum + (rows[y]!.threads.some((thread) => freeing.threads.includes(thread)) ? 0 : row[x]!), 0);
		if (value > most.value) most = { value, column: x };
	});
	parts.push(most.column >= 0 ? `${columns[most.column]!.name} freed ${format(most.value)} that others allocated` : 'none freed what another allocated');
	return `${parts.join('; ')}.`;
}

const Named = ({ group }: { group: ThreadGroup }) => (
	<>
		{group.name} <span class="muted">{tidOf(group)}</span>
	</>
);

function Matrix({ rows, columns, matrix, whole }: { rows: ThreadGroup[]; columns: ThreadGroup[]; matrix: number[][]; whole: number }) {
	const { format } = measure.value;
	const most = Math.max(1, ...matrix.flat());
	const fields: Field<{ group: ThreadGroup; values: number[] }>[] = [
		{ head: 'allocated by ↓ freed by →', text: true, names: true, cell: ({ group }) => <Named group={group} /> },
		...columns.map((column, x) => {
			const never = column.threads[0] === null;
			return {
				head: <Named group={never ? { ...column, name: 'never freed' } : column} />,
				cell: ({ values }: { values: number[] }) => (values[x] ? format(values[x]) : ''),
				attributes: ({ group, values }: { group: ThreadGroup; values: number[] }) => ({
					class: never ? 'matrix-never' : column.key === group.key ? 'matrix-self' : 'matrix-other',
					style: { '--part': `${Math.round((100 * values[x]!) / most)}%` },
					title: values[x] ? `${group.name}, ${never ? 'never freed' : `freed by ${column.name}`}: ${format(values[x])}, ${formatPercent(values[x], whole)}` : undefined,
				}),
			};
		}),
	];
	return (
		<section aria-label="who frees for whom">
			<h2>
				Allocated by, and freed by <span class="muted">{format(whole)}</span>
			</h2>
			<Rows label="allocated by, in rows, and freed by, in columns" class="matrix" fields={fields} rows={rows.map((group, y) => ({ group, values: matrix[y]! }))} id={({ group }) => group.key} />
		</section>
	);
}

export function Threads() {
	const [open, setOpen] = useState<Set<string>>(new Set());
	const both = useAnswer<SumsTable>(dataPath('sums'), { ...plainConditions.value, by: 'thread,free_thread' });
	const curves = useAnswer<SumsTable>(dataPath('sums'), { ...plainConditions.value, by: 'thread', spark: SPARK_POINTS });
	useSeen(both.stale ? null : both.data);
	return (
		<Shown answer={both} height={400} class="stacked">
			{(data) => <Drawn data={data} curves={curves.data} open={open} toggle={(key) => setOpen(new Set(open.has(key) ? [...open].filter((one) => one !== key) : [...open, key]))} />}
		</Shown>
	);
}

function Drawn({ data, curves, open, toggle }: { data: SumsTable; curves: SumsTable | null; open: Set<string>; toggle: (key: string) => void }) {
	const column = allocatedColumn();
	const ended = !liveTable.value;
	const { format } = measure.value;
	const { rows, columns, matrix, all } = useMemo(() => {
		const threads = threadsOf(data, 0);
		const rows = groupThreads(threads, open);
		const columns = groupThreads(threadsOf(data, 1), open).sort((a, b) => Number(a.threads[0] === null) - Number(b.threads[0] === null));
		const matrix = matrixOf(data, rows, columns, column);
		const order = rows.map((_, i) => i).sort((a, b) => total(matrix[b]!) - total(matrix[a]!));
		return { rows: order.map((i) => rows[i]!), columns, matrix: order.map((i) => matrix[i]!), all: threads.length };
	}, [data, open, column]);
	const whole = data.all[column];
	const shown = rows.slice(0, SHOWN);
	const fields: Field<{ group: ThreadGroup; sides: Sides }>[] = [
		{
			head: 'thread', text: true,
			cell: ({ group }) =>
				group.group ? (
					<button type="button" class="plain" aria-expanded="false" onClick={() => toggle(group.key)} title="show each thread">
						▸ {group.name} <span class="muted">{formatCount(group.threads.length)} threads</span>
					</button>
				) : (
					<a href={linkTo({ page: 'sites', conditions: { ...place.value.conditions, ...(group.threads[0] === null ? {} : { thread: String(group.threads[0]) }) } })}>
						<Named group={group} />
					</a>
				),
		},
		{ head: ended ? WORDS[column] : measure.value.word, cell: ({ sides }) => format(sides.all) },
		{ head: 'share', cell: ({ sides }) => <Share part={sides.all} whole={whole} /> },
		...(ended
			? [
				{ head: 'freed by itself', cell: ({ sides }: { sides: Sides }) => format(sides.self) },
				{ head: 'by others', cell: ({ sides }: { sides: Sides }) => format(sides.others) },
				{
					head: 'never freed', cell: ({ sides }: { sides: Sides }) => format(sides.never),
					attributes: ({ sides }: { sides: Sides }) => ({ class: sides.never ? 'never-freed' : '' }),
				},
			]
			: []),
		{ head: 'live at most', cell: ({ group }) => formatBytes(liveOf(group)) },
		{ head: 'live over the run', text: 'head', cell: ({ group }) => <Spark values={curveOf(group)} /> },
	];
	const curveOf = (group: ThreadGroup): number[] => {
		const keys = curves?.keys[0];
		if (!curves || !keys) return [];
		const found = curves.key.flatMap((key, row) => (group.threads.includes(keys.thread?.[key ?? -1] ?? null) ? [curves.curve[row] ?? []] : []));
		return (found[0] ?? []).map((_, i) => found.reduce((sum, curve) => sum + (curve[i] ?? 0), 0));
	};
	const liveOf = (group: ThreadGroup): number => {
		const keys = curves?.keys[0];
		return curves && keys ? curves.key.reduce<number>((sum, key, row) => sum + (group.threads.includes(keys.thread?.[key ?? -1] ?? null) ? curves.bytes[row]! : 0), 0) : 0;
	};
	return (
		<>
			<h1>{sentence(rows, columns, matrix, all, column)}</h1>
			{data.rows ? null : <Nothing />}
			<section aria-label="threads">
				<Rows
					label="threads, what they allocated and what became of it"
					class="fit"
					fields={fields}
					rows={shown.map((group, i) => ({ group, sides: sidesOf(group, matrix[i]!, columns) }))}
					id={({ group }) => group.key}
					rest={rows.length > SHOWN ? [`${formatCount(rows.length - SHOWN)} more`, format(matrix.slice(SHOWN).reduce((sum, row) => sum + total(row), 0)), ''] : null}
				/>
				{[...open].map((key) => (
					<button key={key} type="button" class="plain" onClick={() => toggle(key)}>
						▾ {key} as one row
					</button>
				))}
			</section>
			{ended ? <Matrix rows={shown} columns={columns} matrix={matrix} whole={whole} /> : null}
		</>
	);
}

const total = (row: number[]): number => row.reduce((sum, value) => sum + value, 0);
