/* What is compared: two recordings, or two moments; a side is a recording and a moment of it. */
import type { Mark, Recording } from '../api/generated';
import { baseName } from '../components/site_name';
import { facts, go, place, recordings, summary } from '../state/state';
import { formatBytes, formatCount, formatTime } from '../text/units';

export interface Side {
	recording: string;
	/** A moment as conditions have it; '': the whole run, whose bytes are those at its peak. */
	at: string;
}

export function sides(): { before: Side; after: Side } {
	const { conditions, brush } = place.value;
	const named = (id: string) => (id === 'last' ? (facts.value?.id ?? id) : id);
	const recording = named(place.value.recording);
	const now = brush?.mode === 'moment' || brush?.mode === 'grew' ? `${brush.to}ns` : (conditions.alive_at ?? '');
	const then = brush?.mode === 'grew' ? `${brush.from}ns` : (conditions['b.alive_at'] ?? '');
	return { before: { recording: named(conditions['b.id'] ?? recording), at: then }, after: { recording, at: now } };
}

/** Whether there is something to compare. */
export const areChosen = (): boolean =>
	place.value.brush?.mode === 'grew' || Object.keys(place.value.conditions).some((name) => name.startsWith('b.'));

/** Compares these two. A condition without a value is one that the side before does not have. */
export function compare(before: Side, after: Side): void {
	const { alive_at: _, 'b.alive_at': __, 'b.id': ___, ...rest } = place.value.conditions;
	const conditions: Record<string, string> = { ...rest, 'b.id': before.recording };
	if (after.at) conditions.alive_at = after.at;
	if (before.at) conditions['b.alive_at'] = before.at;
	else if (after.at) conditions['b.alive_at'] = '';
	go({ recording: after.recording, brush: null, conditions, view: { root: '', sel: '' } });
}

const words = (recording: Recording): string =>
	`${baseName(recording.executable)} · ${baseName(recording.path)} · pid ${recording.pid} · peak ${formatBytes(recording.peak)} · ${formatCount(recording.calls)} calls`;

const shownMoment = (at: string): string => {
	const found = /^(\d+)ns$/.exec(at);
	return found ? formatTime(Number(found[1])) : at;
};

function SideForm(props: { name: string; side: Side; marks: Mark[]; onChange: (side: Side) => void }) {
	const { side } = props;
	const list = recordings.value ?? [];
	const known = ['', 'peak', 'end', ...props.marks.map((mark) => `${mark.at_ns}ns`)];
	const moments = known.includes(side.at) ? known : [...known, side.at];
	const label = (at: string) => {
		if (!at) return 'whole run, at its peak';
		const mark = props.marks.find((found) => `${found.at_ns}ns` === at);
		return mark ? `${mark.name} (${shownMoment(at)})` : `live at ${shownMoment(at)}`;
	};
	const id = (part: string) => `${props.name}-${part}`;
	return (
		<fieldset class="side">
			<legend>{props.name}</legend>
			<label for={id('recording')} class="visually-hidden">
				recording {props.name}
			</label>
			<select
				id={id('recording')}
				value={side.recording}
				onChange={(event) => props.onChange({ recording: event.currentTarget.value, at: '' })}
			>
				{list.some((recording) => recording.id === side.recording) ? null : <option value={side.recording}>{side.recording}</option>}
				{list.map((recording) => (
					<option key={recording.id} value={recording.id}>
						{words(recording)}
					</option>
				))}
			</select>
			<label for={id('moment')} class="visually-hidden">
				moment {props.name}
			</label>
			<select id={id('moment')} value={side.at} onChange={(event) => props.onChange({ ...side, at: event.currentTarget.value })}>
				{moments.map((at) => (
					<option key={at} value={at}>
						{label(at)}
					</option>
				))}
			</select>
		</fieldset>
	);
}

export function Sides() {
	const { before, after } = sides();
	const own = summary.value?.marks ?? [];
	const same = before.recording === after.recording;
	return (
		<div class="sides">
			<SideForm name="before" side={before} marks={same ? own : []} onChange={(side) => compare(side, after)} />
			<button type="button" title="before becomes after" onClick={() => compare(after, before)}>
				⇄ swap
			</button>
			<SideForm name="after" side={after} marks={own} onChange={(side) => compare(before, side)} />
		</div>
	);
}
