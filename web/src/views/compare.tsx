/* Two recordings, or two moments: what changed from before to after. */
import { useMemo, useState } from 'preact/hooks';
import type { FlameChange, Series, SumsChange, SummaryChange } from '../api/generated';
import { useAnswer } from '../api/answer';
import { FlameGraph, FlamePath } from '../charts/flame/flame_graph';
import { byName, graphOf } from '../charts/flame/graph_data';
import { TwoCurves } from '../charts/two_curves';
import { Shown, useSeen } from '../components/shown';
import { baseName } from '../components/site_name';
import { Switch } from '../components/switch';
import { measure } from '../state/measure';
import { conditions, dataPath, facts, go, place, recordings, summary } from '../state/state';
import { shortName } from '../text/names';
import { formatBytes, formatChange, formatCount, formatPercent, formatTime } from '../text/units';
import { areChosen, compare, sides, Sides } from './compare_sides';
import { ChangeTable, changeRows } from './change_table';
import { flameParams } from './flame_query';
import '../styles/compare.css';

const ROWS = 200;
const CURVE = { points: 400 };

type By = 'site' | 'function' | 'file' | 'module';
type Scale = 'none' | 'time' | 'call';

const byOf = (): By => {
	const asked = place.value.view.by;
	return asked === 'site' || asked === 'file' || asked === 'module' ? asked : 'function';
};

/** What numbers of before are multiplied by: as if it had run as long, or allocated as often. */
export function scaleOf(scale: Scale, change: { before: SummaryChange['before']; after: SummaryChange['after'] }): number {
	const { before, after } = change;
	if (scale === 'time') return before.facts.duration_s ? after.facts.duration_s / before.facts.duration_s : 1;
	if (scale === 'call') return before.all.calls ? after.all.calls / before.all.calls : 1;
	return 1;
}

/** "+12.4 MB (+18 %): 71.0 MB before, 83.4 MB after. cache_put +9.10 MB is 73 % of it; parse is new." */
export function sentence(sums: SumsChange, factor: number): string {
	const { column, format } = measure.value;
	const before = sums.before.all[column] * factor;
	const after = sums.after.all[column];
	const change = after - before;
	const part = before ? ` (${formatChange(change, (value) => formatPercent(value, before))})` : '';
	const head = `${formatChange(change, format) || format(0)}${part}: ${format(before)} before, ${format(after)} after.`;
	const rows = changeRows(sums, column).map((row) => ({ ...row, change: row.after - row.before * factor }));
	const first = rows.filter((row) => row.change > 0 === change > 0).sort((a, b) => Math.abs(b.change) - Math.abs(a.change))[0];
	if (!first || !change) return head;
	const who = `${shortName(first.name ?? '[unknown]')} ${formatChange(first.change, format)}`;
	const share = first.change / change;
	const most = share <= 1.005 ? ` ${who} is ${formatPercent(first.change, change)} of it` : ` ${who}, more than that`;
	const fresh = rows.find((row) => !row.before && row.after && row.name !== first.name);
	return `${head}${most}${fresh ? `; ${shortName(fresh.name ?? '[unknown]')} is new` : ''}.`;
}

/* Ways to begin: what one most likely wants to compare. */
function Begin() {
	const { recording } = place.value;
	const own = facts.value;
	const end = Math.round((own?.duration_s ?? 0) * 1e9);
	const others = (recordings.value ?? []).filter((other) => other.id !== recording && other.id !== own?.id);
	const peak = summary.value?.peak.at_ns ?? 0;
	const here = own?.id ?? recording;
	return (
		<>
			<h1>Two recordings, or two moments of one: what changed?</h1>
			<ul class="begin">
				<li>
					<button type="button" onClick={() => compare({ recording: here, at: 'peak' }, { recording: here, at: 'end' })}>
						the peak ({formatTime(peak)}) with the end
					</button>
				</li>
				<li>
					<button type="button" onClick={() => compare({ recording: here, at: `${Math.round(end / 2)}ns` }, { recording: here, at: 'end' })}>
						half of the run with its end: what grew
					</button>
				</li>
				{others.map((other) => (
					<li key={other.id}>
						<button type="button" onClick={() => compare({ recording: other.id, at: '' }, { recording: here, at: '' })}>
							{baseName(other.executable)}, pid {other.pid}, with this one: peak {formatBytes(other.peak)}, {formatCount(other.calls)} calls
						</button>
					</li>
				))}
			</ul>
			<p class="muted">Or drag a range on the strip and choose “what grew here”; the key D makes what is shown the side before.</p>
		</>
	);
}

function Curves() {
	const { before, after } = sides();
	// Of one recording the strip above is the curve of both.
	const two = before.recording !== after.recording;
	const first = useAnswer<Series>(two ? `/data/${before.recording}/series` : null, CURVE);
	const second = useAnswer<Series>(two ? `/data/${after.recording}/series` : null, CURVE);
	if (!two) return null;
	return <Shown answer={second} height={140}>{(data) => (first.data ? <TwoCurves before={first.data} after={data} /> : null)}</Shown>;
}

function ChangeGraph() {
	const { view } = place.value;
	const [selected, setSelected] = useState(-1);
	const answer = useAnswer<FlameChange>(dataPath('flame'), flameParams(false, 2000));
	const graph = useMemo(
		() => (answer.data ? byName(graphOf(answer.data.flame, { before: answer.data.before, after: answer.data.after })) : null),
		[answer.data],
	);
	const zoomed = graph && view.root ? Math.max(0, graph.flame.id.indexOf(view.root)) : 0;
	const zoom = (node: number) => {
		setSelected(node);
		go({ view: { root: node > 0 && graph ? graph.flame.id[node]! : '' } });
	};
	return (
		<Shown answer={answer} height={300}>
			{() =>
				graph ? (
					<>
						<FlameGraph
							graph={graph}
							format={measure.value.format}
							colourBy="module"
							find={view.find ?? ''}
							zoomed={zoomed}
							selected={selected}
							onZoom={zoom}
							onSelect={setSelected}
							label="what changed, as a flame graph"
						/>
						{zoomed ? <FlamePath graph={graph} node={zoomed} onZoom={zoom} /> : null}
					</>
				) : null
			}
		</Shown>
	);
}

export function Compare() {
	return areChosen() ? <Change /> : <Begin />;
}

function Change() {
	const { view } = place.value;
	const by = byOf();
	const scale = (view.scale === 'time' || view.scale === 'call' ? view.scale : 'none') as Scale;
	const sums = useAnswer<SumsChange>(dataPath('sums'), { ...conditions.value, by, sort_by: measure.value.column, count: ROWS });
	const whole = useAnswer<SummaryChange>(dataPath('summary'), conditions.value);
	const factor = whole.data ? scaleOf(scale, whole.data) : 1;
	useSeen(sums.stale ? null : sums.data);
	const set = (change: Record<string, string>) => go({ view: change });
	return (
		<>
			<Shown answer={sums} height={30}>
				{(data) => <h1>{sentence(data, factor)}</h1>}
			</Shown>
			<Sides />
			<Curves />
			<div class="view-bar">
				<Switch
					label="widths are"
					value={view.show ?? 'larger'}
					choices={[
						{ value: 'larger', text: 'larger of both' },
						{ value: 'grew', text: 'what grew' },
						{ value: 'fell', text: 'what fell' },
					]}
					onChange={(show) => set({ show: show === 'larger' ? '' : show, root: '' })}
				/>
				<Switch<By>
					label="rows are"
					value={by}
					choices={[
						{ value: 'function', text: 'functions' },
						{ value: 'site', text: 'sites' },
						{ value: 'file', text: 'files' },
						{ value: 'module', text: 'modules' },
					]}
					onChange={(value) => set({ by: value === 'function' ? '' : value })}
				/>
				<Switch<Scale>
					label="scale of before"
					value={scale}
					choices={[
						{ value: 'none', text: 'as they are' },
						{ value: 'time', text: 'by time', title: 'before as if it had run as long as after' },
						{ value: 'call', text: 'per call', title: 'before as if it had allocated as often as after' },
					]}
					onChange={(value) => set({ scale: value === 'none' ? '' : value })}
				/>
			</div>
			<ChangeGraph />
			<Shown answer={sums} height={200}>
				{(data) => <ChangeTable answer={data} measure={measure.value} scale={factor} />}
			</Shown>
		</>
	);
}
