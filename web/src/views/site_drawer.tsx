/* A site in full: over time, its sizes and lifetimes, its stack, and what can be asked next. */
import type { Backtrace, Series, SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { inFile } from '../api/file';
import { Drawer } from '../components/drawer';
import { Shown } from '../components/shown';
import { frameText, Stack } from '../components/stack';
import { Bars, barsOf, classEnds } from '../charts/bars';
import { Spark } from '../charts/spark';
import { useViewKeys } from '../frame/keys';
import { liveTable } from '../state/limits';
import { copy } from '../state/say';
import { dataPath, go, linkTo, place, plainConditions, standingConditions } from '../state/state';
import { shortName } from '../text/names';
import { formatBytes, formatCount, formatTime } from '../text/units';
import { conditionOf, keyOf, type By } from './site_key';

const POINTS = 200;

/* "7.16 MB never freed of 7.16 MB · grows 1.30 MB/s · by worker-0, worker-1" */
function sentence(sums: SumsTable, threads: SumsTable | null): string {
	const { all } = sums;
	const parts = [liveTable.value ? `${formatBytes(all.bytes)} live in ${formatCount(all.blocks)} blocks` : all.leaked ? `${formatBytes(all.leaked)} never freed of ${formatBytes(all.total)}` : `${formatBytes(all.total)} allocated, all of it freed`];
	const growth = sums.growth[0] ?? 0;
	if (growth > 0 && all.leaked && !liveTable.value) parts.push(`grew ${formatBytes(growth)}/s in the second half`);
	const names = threads?.keys[0]?.name.filter((name): name is string => !!name) ?? [];
	if (names.length) parts.push(`by ${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`);
	return parts.join(' · ');
}

/* Which threads freed it: "freed by drain, main". */
function freedBy(sums: SumsTable): string {
	const names = sums.key.flatMap((_, row) => {
		const { name } = keyOf(sums, row);
		return name && name !== '[no thread]' ? [`${name} (${formatCount(sums.calls[row] ?? 0)})`] : [];
	});
	return names.length ? names.join(', ') : 'nowhere';
}

export function SiteDrawer({ by, sel, onClose }: { by: By; sel: string; onClose: () => void }) {
	const condition = conditionOf(by, sel);
	const params = { ...plainConditions.value, ...condition };
	const whole = useAnswer<SumsTable>(dataPath('sums'), { ...params, by, count: 1 });
	const threads = useAnswer<SumsTable>(dataPath('sums'), { ...params, by: 'thread', count: 4 });
	const ended = liveTable.value ? null : dataPath('sums'); // what asks for frees
	const freed = useAnswer<SumsTable>(ended, { ...params, by: 'free_thread', sort_by: 'calls', count: 4 });
	const series = useAnswer<Series>(dataPath('series'), { ...standingConditions.value, ...condition, points: POINTS });
	const sizes = useAnswer<SumsTable>(dataPath('sums'), { ...params, by: 'size', sort_by: 'key' });
	const lifetimes = useAnswer<SumsTable>(ended, { ...params, by: 'lifetime', sort_by: 'key' });
	const sites = useAnswer<SumsTable>(by === 'site' ? null : dataPath('sums'), { ...params, count: 8 });
	const stack = by === 'site' ? Number(sel) : (sites.data ? keyOf(sites.data, 0).stack : null);
	const backtrace = useAnswer<Backtrace>(stack === null ? null : dataPath(`backtrace/${stack}`));
	const copyStack = () => {
		const frames = backtrace.data?.frames;
		if (frames) void copy([...frames].reverse().map(frameText).join('\n'), 'the stack');
	};
	useViewKeys((event) => {
		if (event.key !== 'c') return false;
		copyStack();
		return true;
	});
	const own = place.value.conditions;
	const name = (whole.data && keyOf(whole.data, 0).name) ?? sel;
	const short = shortName(name);
	// A suppression is compared with whole names.
	const suppress = [own.suppress, `leak:${name.includes(short) ? short : name}`].filter(Boolean).join('\n');
	// What can be asked next, of a server.
	const further = inFile ? null : (
		<>
			<a href={linkTo({ page: 'flame', conditions: { ...own, ...condition } })}>flame graph</a>
			<a href={linkTo({ page: 'allocations', conditions: { ...own, ...condition } })}>
				{whole.data ? `its ${formatCount(ended ? whole.data.all.calls : whole.data.all.blocks)} blocks` : 'its blocks'}
			</a>
			<button type="button" onClick={() => go({ conditions: { ...own, ...condition } })}>
				only this
			</button>
			{ended && whole.data?.all.leaked ? (
				<button type="button" title="counts it no longer: a line of suppressions" onClick={() => go({ conditions: { ...own, suppress }, view: { sel: '' } })}>
					suppress
				</button>
			) : null}
		</>
	);
	return (
		<Drawer label={`site ${name}`} title={<span class="mono">{short}</span>} onClose={onClose}>
			<Shown answer={whole} height={36}>
				{(sums) => <p>{sentence(sums, threads.data)}</p>}
			</Shown>
			<h3>{liveTable.value ? 'What lives now, by when it was allocated' : 'Live bytes over the run'}</h3>
			<Shown answer={series} height={96}>
				{(data) => (
					<>
						<Spark values={data.live_last} width={408} height={80} leaked={!liveTable.value && (whole.data?.all.leaked ?? 0) > 0} />
						<div class="bars-ends" aria-hidden="true">
							<span>0</span>
							<span>
								most: {formatBytes(data.peak.bytes)}
								{data.peak.at_ns >= 0 ? ` at ${formatTime(data.peak.at_ns)}` : ''}
							</span>
							<span>{formatTime(data.end_ns)}</span>
						</div>
					</>
				)}
			</Shown>
			<div class="drawer-pair">
				<div>
					<h3>Sizes</h3>
					<Shown answer={sizes} height={80}>
						{(data) => <Bars title="calls by size" bars={barsOf(data, 'size', 'calls')} ends={classEnds(data, 'size')} count />}
					</Shown>
				</div>
				{ended ? (
					<div>
						<h3>Lifetimes</h3>
						<Shown answer={lifetimes} height={80}>
							{(data) => <Bars title="calls by lifetime" bars={barsOf(data, 'lifetime', 'calls')} ends={classEnds(data, 'lifetime')} count />}
						</Shown>
					</div>
				) : null}
			</div>
			<h3>{by === 'site' ? 'Allocated by' : 'Its largest site'}</h3>
			{stack !== null ? <Stack id={stack} label="stack" /> : null}
			{ended ? (
				<>
					<h3>Freed by</h3>
					<Shown answer={freed} height={18}>
						{(data) => <p>{freedBy(data)}</p>}
					</Shown>
				</>
			) : null}
			<div class="drawer-foot">
				{further}
				<button type="button" onClick={copyStack}>
					copy stack
				</button>
			</div>
		</Drawer>
	);
}
