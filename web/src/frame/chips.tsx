/* What the view is limited to, and its sum: the brush and the conditions, each with a way out. */
import { useEffect, useState } from 'preact/hooks';
import type { SummaryOrChange } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Menu } from '../components/menu';
import { MODE_WORDS } from '../state/brush';
import { fileFacts, inFile } from '../api/file';
import { chooseMoment } from '../state/moments';
import { badges } from '../state/badges';
import { LIVE_WORDS, liveMark, liveState, markNow, showGrown, togglePause } from '../state/live';
import { family, imported, liveTable, merged, rangeModes } from '../state/limits';
import { conditions, dataPath, go, place, summary } from '../state/state';
import { formatBytes, formatChange, formatCount, formatExact, formatTime } from '../text/units';
import { conditionWords } from '../text/conditions';
import { FilterForm } from './filter_form';

/* Several processes as one have no curve to choose a part of, and no blocks to filter. */
function MergedChip() {
	return (
		<span class="chip quiet">
			<b>{formatCount(family.value.length)} processes as one</b> <span class="muted">· at the peak of all</span>
		</span>
	);
}

function BrushChip() {
	const { brush } = place.value;
	if (!brush)
		return (
			<span class="chip quiet">
				{liveTable.value ? (
					<b>what lives now</b>
				) : (
					<>
						<b>whole run</b> <span class="muted">· bytes are those at the peak</span>
					</>
				)}
			</span>
		);
	const moment = brush.mode === 'moment';
	const time = moment ? formatTime(brush.to) : `${formatTime(brush.from)} – ${formatTime(brush.to)}`;
	const peak = brush.mode === 'peak' && brush.peak !== undefined ? `, at ${formatTime(brush.peak)}` : '';
	const text = (
		<>
			<b>{time}</b> {MODE_WORDS[brush.mode] + peak}
			{liveTable.value ? ' · of what lives now' : ''}
		</>
	);
	return (
		<span class="chip">
			{moment ? (
				text
			) : (
				<Menu
					label={<>{text} ▾</>}
					title="what the range means (v)"
					items={rangeModes.value.map((mode) => ({
						text: MODE_WORDS[mode],
						run: () => go({ brush: { mode, from: brush.from, to: brush.to } }),
					}))}
				/>
			)}
			<button type="button" class="out" aria-label="the whole run" title="the whole run (0)" onClick={() => go({ brush: null })}>
				✕
			</button>
		</span>
	);
}

function ConditionChip({ name, value }: { name: string; value: string }) {
	const words = conditionWords(name, value);
	const remove = () => {
		const { [name]: _, ...rest } = place.value.conditions;
		go({ conditions: rest });
	};
	return (
		<span class="chip" title={`${name}=${value}`}>
			<span class="chip-text">{words}</span>
			<button type="button" class="out" aria-label={`without: ${words}`} onClick={remove}>
				✕
			</button>
		</span>
	);
}

/** The sum of what is shown: the same number as in every view. */
function Sum() {
	const answer = useAnswer<SummaryOrChange>(dataPath('summary'), conditions.value);
	const { data } = answer;
	const mode = place.value.brush?.mode;
	const side = data && ('change' in data ? data.after : data);
	useEffect(() => {
		if (side) badges.value = { ...badges.value, allocations: liveTable.value ? side.matched.peak_blocks : side.matched.calls };
	}, [side]);
	if (answer.error) return <span class="sum failure-line">{answer.error.message}</span>;
	if (!data || !side) return <span class="sum" />;
	if ('change' in data) {
		const change = data.change.peak_bytes;
		return (
			<span class={`sum${answer.stale ? ' dim' : ''}`} title={`${formatExact(change)} B`}>
				<b>{formatChange(change, formatBytes)}</b> · {formatBytes(data.before.matched.peak_bytes)} before,{' '}
				{formatBytes(data.after.matched.peak_bytes)} after
			</span>
		);
	}
	const all = mode === 'allocated' || mode === 'freed';
	const bytes = all ? side.matched.total_bytes : side.matched.peak_bytes;
	const blocks = all ? side.matched.calls : side.matched.peak_blocks;
	return (
		<span class={`sum${answer.stale ? ' dim' : ''}`} title={`${formatExact(bytes)} B`}>
			<b>{formatBytes(bytes)}</b> · {formatCount(blocks)} block{blocks === 1 ? '' : 's'}
		</span>
	);
}

/** What is being recorded: how it can be followed, stopped to look at, and compared with now. */
function LiveControls() {
	if (liveState.value === 'off') return null;
	const mark = liveMark.value;
	return (
		<span class="live" role="group" aria-label="live">
			<span class={`live-dot ${liveState.value}`} aria-hidden="true" />
			<b>{LIVE_WORDS[liveState.value]}</b>
			{liveState.value === 'following' || liveState.value === 'paused' ? (
				<>
					<button type="button" title="stop to look, go on (space)" aria-pressed={liveState.value === 'paused'} onClick={togglePause}>
						{liveState.value === 'paused' ? 'Go on' : 'Pause'}
					</button>
					{liveTable.value ? null : (
						<button type="button" title="remember this moment (m)" onClick={markNow}>
							Mark
						</button>
					)}
				</>
			) : null}
			{mark !== null ? (
				<button type="button" title="the difference between the mark and now" onClick={showGrown}>
					grew since {formatTime(mark)}
				</button>
			) : null}
		</span>
	);
}

/* What the page as one file is limited to, and which moments it has. */
function OfFile() {
	const { conditions: held, moments } = fileFacts()!;
	return (
		<>
			{[...new URLSearchParams(held)].map(([name, value]) => (
				<span class="chip quiet" key={name} title={`${name}=${value}`}>
					<span class="chip-text">{conditionWords(name, value)}</span>
				</span>
			))}
			{moments.length ? (
				<Menu
					label="moments ▾"
					title="the moments that this file has"
					items={moments.map(({ at_ns: at, name }) => ({ text: `${formatTime(at)} ${name}`, run: () => chooseMoment(at) }))}
				/>
			) : null}
		</>
	);
}

export function Chips() {
	const [form, setForm] = useState(false);
	const { conditions: own, unknown, page, brush } = place.value;
	// Compare has the sides in a form of its own.
	const ofSides = (name: string) => page === 'compare' && /^(b\.(id|alive_at)|alive_at)$/.test(name);
	return (
		<div class="chips" role="region" aria-label="filter">
			<LiveControls />
			{merged.value ? <MergedChip /> : imported.value && !summary.value?.has_curve ? null : brush || !('alive_at' in own) ? <BrushChip /> : null}
			{Object.entries(own).filter(([name]) => !ofSides(name)).map(([name, value]) => (
				<ConditionChip key={name} name={name} value={value} />
			))}
			{inFile ? (
				<OfFile />
			) : merged.value ? null : (
				<button type="button" class="plain" title="all conditions" onClick={() => setForm(true)}>
					+ filter
				</button>
			)}
			{unknown.length ? (
				<span class="failure-line">This version does not know {unknown.join(', ')} of the address.</span>
			) : null}
			<span class="top-space" />
			<span role="status" aria-live="polite">
				<Sum />
			</span>
			{form ? <FilterForm onClose={() => setForm(false)} /> : null}
		</div>
	);
}
