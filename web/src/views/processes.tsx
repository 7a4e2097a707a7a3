/* The processes of a run: who started whom, and when each had how much. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Recording, Series, Summary } from '../api/generated';
import { fetchAnswer, useAnswer } from '../api/answer';
import { target } from '../api/client';
import { Bytes, Count } from '../components/amount';
import { baseName } from '../components/site_name';
import { chooseRecording, toRecording } from '../frame/recordings';
import { family as ofRun, familyId, merged } from '../state/limits';
import { facts, go, linkTo, recordings } from '../state/state';
import { formatBytes, formatCount, formatPercent, formatTime } from '../text/units';
import { processRows, sumCurves, type ProcessRow } from './process_tree';
import '../styles/processes.css';

const POINTS = 200;
const LANE = 600;
const LANE_HEIGHT = 28;
/* Of how many processes curves are asked for: the largest. */
const CURVES = 32;

const nameOf = (recording: Recording): string => baseName(recording.executable || '[unknown]');

/* "82 processes: cc1plus 1234 had most, 194 MB; together at most 210 MB at 3.20 s." */
function sentence(family: Recording[], together: Summary['peak'] | null): string {
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
	return (
		<>
			<h1>{sentence(family, peak)}</h1>
			<div class="scroll-x" tabIndex={0} role="region" aria-label="processes, who started whom">
				<table class="rows processes">
					<thead>
						<tr>
							<th class="text">process</th>
							<th>pid</th>
							<th>from</th>
							<th>ran</th>
							<th>most live</th>
							<th>left at its end</th>
							<th>allocated</th>
							<th>calls</th>
							<th class="text lane-cell">live, over {formatTime(tree.length)}</th>
						</tr>
					</thead>
					<tbody>
						{family.length > 1 ? (
							<tr class="process-sum link-row" aria-current={merged.value ? 'true' : undefined} onClick={() => go(asOne)}>
								<td class="text">
									<a href={linkTo(asOne)} onClick={(event) => event.stopPropagation()} title="sums, flame graph and sites of all of them">
										<b>all as one</b>
									</a>
								</td>
								<td />
								<td />
								<td>{formatTime(tree.length)}</td>
								<td>
									{peak ? <Bytes value={peak.bytes} /> : null}
								</td>
								<td>
									<Bytes value={family.reduce((bytes, one) => bytes + one.final_allocated, 0)} />
								</td>
								<td>
									<Bytes value={family.reduce((bytes, one) => bytes + one.total, 0)} />
								</td>
								<td>
									<Count value={family.reduce((calls, one) => calls + one.calls, 0)} />
								</td>
								<td class="text lane-cell">
									<Lane row={sum} length={tree.length} values={together} most={sum.recording.peak} />
								</td>
							</tr>
						) : null}
						{tree.rows.map((row) => {
							const { recording } = row;
							const change = toRecording(recording.id);
							return (
								<tr key={recording.id} class="link-row" aria-current={recording.id === id && !merged.value ? 'true' : undefined} onClick={() => go(change)}>
									<td class="text process-name" title={`${recording.path}\n${recording.cmdline}`} style={{ paddingLeft: `${8 + (row.level - 1) * 16}px` }}>
										<a href={linkTo(change)} onClick={(event) => event.stopPropagation()}>
											<b>{nameOf(recording)}</b> <span class="muted">{baseName(recording.path)} · {recording.cmdline.slice(0, 80)}</span>
										</a>
									</td>
									<td>{recording.pid}</td>
									<td>{formatTime(row.start)}</td>
									<td>{formatTime(row.length)}</td>
									<td>
										<Bytes value={recording.peak} />
									</td>
									<td>
										<Bytes value={recording.final_allocated} />
									</td>
									<td>
										<Bytes value={recording.total} />
									</td>
									<td>
										<Count value={recording.calls} />
									</td>
									<td class="text lane-cell">
										<Lane row={row} length={tree.length} values={curves.get(recording.id)} most={most} />
									</td>
								</tr>
							);
						})}
						{tree.small.length ? (
							<tr class="muted">
								<td class="text">
									<button type="button" class="plain" onClick={() => setAll(true)}>
										{formatCount(tree.small.length)} more, each below {formatPercent(1, 100)} of all
									</button>
								</td>
								<td />
								<td />
								<td />
								<td>
									<Bytes value={Math.max(...tree.small.map(({ peak }) => peak))} />
								</td>
								<td>
									<Bytes value={tree.small.reduce((bytes, one) => bytes + one.final_allocated, 0)} />
								</td>
								<td>
									<Bytes value={tree.small.reduce((bytes, one) => bytes + one.total, 0)} />
								</td>
								<td>
									<Count value={tree.small.reduce((calls, one) => calls + one.calls, 0)} />
								</td>
								<td class="text">at most</td>
							</tr>
						) : null}
					</tbody>
				</table>
			</div>
			{others > 0 ? (
				<button type="button" class="plain" onClick={chooseRecording}>
					{formatCount(others)} more recordings, of other runs
				</button>
			) : null}
		</>
	);
}
