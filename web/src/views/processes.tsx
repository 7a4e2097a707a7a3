/* The processes of a run: who started whom, and when each had how much. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Recording, Series, Summary } from '../api/generated';
import { fetchAnswer, useAnswer } from '../api/answer';
import { target } from '../api/client';
import { Bytes, Count } from '../components/amount';
import { Rows, type Field } from '../components/rows';
import { baseName } from '../components/site_name';
import { chooseRecording, toRecording } from '../frame/recordings';
import { family as ofRun, familyId, merged } from '../state/limits';
import { facts, linkTo, recordings, type Change } from '../state/state';
import { formatBytes, formatCount, formatPercent, formatTime } from '../text/units';
import { processRows, sumCurves, type ProcessRow } from './process_tree';
import '../styles/processes.css';

const POINTS = 200;
const LANE = 600;
const LANE_HEIGHT = 28;
/* Of how many processes curves are asked for: the largest. */
const CURVES = 32;

const nameOf = (recording: Recording): string => baseName(recording.executable || '[unknown]');

/** "82 processes: cc1plus 1234 had most, 194 MB; together at most 210 MB at 3.20 s." */
export function sentence(family: Recording[], together: Summary['peak'] | null): string {
	if (family.length < 2) return `One process was recorded: ${family[0] ? nameOf(family[0]) : 'none'}.`;
	const most = family.reduce((a, b) => (b.peak > a.peak ? b : a));
	const sum = together ? `; together at most ${formatBytes(together.bytes)}${together.at_ns ? `, at ${formatTime(together.at_ns)}` : ''}` : '';
	return `${formatCount(family.length)} processes: ${nameOf(most)} ${most.pid} had most, ${formatBytes(most.peak)}${sum}.`;
}

/* A curve in its place on the axis of all. */
function Lane({ row, length, values, most }: { row: ProcessRow; length: number; values: number[] | undefined; most: number }) {
	const x = (at: number) => (length ? (at / length) * LANE : 0);
	const left = x(row.start);
	const width = Math.max(2, x(row.length));
	const y = (value: number) => LANE_HEIGHT - 2 - (value / Math.max(1, most)) * (LANE_HEIGHT - 6);
	const points = (values ?? []).map((value, i) => `${(left + (width * (i + 1)) / values!.length).toFixed(1)} ${y(value).toFixed(1)}`);
	return (
		<svg
			class="lane"
			viewBox={`0 0 ${LANE} ${LANE_HEIGHT}`}
			preserveAspectRatio="none"
			role="img"
			aria-label={`from ${formatTime(row.start)} to ${formatTime(row.start + row.length)}, at most ${formatBytes(row.recording.peak)}`}
		>
			<rect class="lane-life" x={left} y={LANE_HEIGHT - 2} width={width} height={2} />
			{points.length ? <path class="lane-area" d={`M${left} ${LANE_HEIGHT - 2}L${points.join('L')}L${left + width} ${LANE_HEIGHT - 2}Z`} /> : null}
		</svg>
	);
}

/* Curves of the largest, one after the other. */
function useCurves(rows: ProcessRow[]): Map<string, number[]> {
	const [curves, setCurves] = useState<Map<string, number[]>>(new Map());
	const wanted = rows.map(({ recording }) => recording).sort((a, b) => b.peak - a.peak).slice(0, CURVES);
	useEffect(() => {
		let gone = false;
		void (async () => {
			for (const { id } of wanted) {
				if (gone) return;
				try {
					const series = await fetchAnswer<Series>(target(`/data/${id}/series`, { points: POINTS }));
					if (!gone) setCurves((before) => new Map(before).set(id, series.live_most));
				} catch {
					// Its row stays without a curve; the table has its numbers.
				}
			}
		})();
		return () => {
			gone = true;
		};
	}, [wanted.map(({ id }) => id).join()]);
	return curves;
}

/* Of all members together. */
const sumOf = (members: Recording[], what: 'final_allocated' | 'total' | 'calls'): number => members.reduce((sum, one) => sum + one[what], 0);

/* The id of the line of all processes together. */
const ALL = 'all';

interface Line {
	/** Of a recording, or ALL. */
	id: string;
	row: ProcessRow;
	members: Recording[];
	/** null: not known yet. */
	peak: number | null;
	lane: { values: number[] | undefined; most: number };
	to: Change;
	current: boolean;
}

function Name({ line: { id, row, to } }: { line: Line }) {
	const { path, cmdline } = row.recording;
	if (id === ALL)
		return (
			<a href={linkTo(to)} title="sums, flame graph and sites of all of them">
				<b>all as one</b>
			</a>
		);
	return (
		<a href={linkTo(to)}>
			<b>{nameOf(row.recording)}</b> <span class="muted">{baseName(path)} · {cmdline.slice(0, 80)}</span>
		</a>
	);
}

const fieldsOf = (length: number): Field<Line>[] => [
	{
		head: 'process', text: true, cell: (line) => <Name line={line} />,
		attributes: ({ id, row: { recording, level } }) =>
			id === ALL ? {} : { class: 'process-name', title: `${recording.path}\n${recording.cmdline}`, style: { paddingLeft: `${8 + (level - 1) * 16}px` } },
	},
	{ head: 'pid', cell: ({ id, row }) => (id === ALL ? '' : row.recording.pid) },
	{ head: 'from', cell: ({ id, row }) => (id === ALL ? '' : formatTime(row.start)) },
	{ head: 'ran', cell: ({ row }) => formatTime(row.length) },
	{ head: 'most live', cell: ({ peak }) => (peak === null ? '' : <Bytes value={peak} />) },
	{ head: 'left at its end', cell: ({ members }) => <Bytes value={sumOf(members, 'final_allocated')} /> },
	{ head: 'allocated', cell: ({ members }) => <Bytes value={sumOf(members, 'total')} /> },
	{ head: 'calls', cell: ({ members }) => <Count value={sumOf(members, 'calls')} /> },
	{
		head: `live, over ${formatTime(length)}`, text: true, class: 'lane-cell',
		cell: ({ row, lane }) => <Lane row={row} length={length} {...lane} />,
	},
];

/* What of small processes is said in one row. */
const restOf = (small: Recording[], open: () => void): ComponentChildren[] => [
	<button type="button" class="plain" onClick={open}>
		{formatCount(small.length)} more, each below {formatPercent(1, 100)} of all
	</button>,
	'', '', '',
	<Bytes value={Math.max(...small.map(({ peak }) => peak))} />,
	<Bytes value={sumOf(small, 'final_allocated')} />,
	<Bytes value={sumOf(small, 'total')} />,
	<Count value={sumOf(small, 'calls')} />,
	'at most',
];

export function Processes() {
	const [all, setAll] = useState(false);
	const list = recordings.value ?? [];
	const id = facts.value?.id ?? '';
	const family = ofRun.value;
	const tree = useMemo(() => processRows(family, all), [family, all]);
	const curves = useCurves(tree.rows);
	const together = useMemo(
		() => sumCurves(tree.rows.map(({ recording, start, length }) => ({ start, length, values: curves.get(recording.id) ?? [] })), tree.length, POINTS),
		[tree, curves],
	);
	useEffect(() => {
		if (family.length && tree.rows.slice(0, CURVES).every(({ recording }) => curves.has(recording.id))) performance.mark('mallow:view');
	}, [family, curves]);
	const most = tree.rows.reduce((found, { recording }) => Math.max(found, recording.peak), 1);
	// The curves are sampled; the peak of all together is the server's.
	const answer = useAnswer<Summary>(family.length > 1 ? `/data/${familyId(family[0]!.id)}/summary` : null);
	const peak = answer.data?.peak ?? null;
	const sum: ProcessRow = { recording: { ...(family[0] ?? ({} as Recording)), peak: Math.max(peak?.bytes ?? 0, ...together) }, level: 1, start: 0, length: tree.length };
	const asOne = toRecording(familyId(family[0]?.id ?? ''));
	const others = list.length - family.length;
	const lines: Line[] = tree.rows.map((row) => ({
		id: row.recording.id, row, members: [row.recording], peak: row.recording.peak,
		lane: { values: curves.get(row.recording.id), most },
		to: toRecording(row.recording.id), current: row.recording.id === id && !merged.value,
	}));
	if (family.length > 1)
		lines.unshift({
			id: ALL, row: sum, members: family, peak: peak && peak.bytes,
			lane: { values: together, most: sum.recording.peak }, to: asOne, current: merged.value,
		});
	return (
		<>
			<h1>{sentence(family, peak)}</h1>
			<Rows
				label="processes, who started whom"
				class="processes"
				fields={fieldsOf(tree.length)}
				rows={lines}
				id={({ id }) => id}
				to={({ to }) => to}
				rowClass={({ id }) => (id === ALL ? 'process-sum' : '')}
				current={({ current }) => current}
				rest={tree.small.length ? restOf(tree.small, () => setAll(true)) : null}
			/>
			{others > 0 ? (
				<button type="button" class="plain" onClick={chooseRecording}>
					{formatCount(others)} more recordings, of other runs
				</button>
			) : null}
		</>
	);
}
