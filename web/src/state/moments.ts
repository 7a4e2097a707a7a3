/* Moves of the brush, for the strip, keys and links. */
import type { BrushMode } from './brush';
import { fileFacts, inFile } from '../api/file';
import { imported, rangeModes } from './limits';
import { movedTo } from './here';
import { say } from './say';
import { formatTime } from '../text/units';
import { duration, go, place, summary } from './state';

/** Chooses a moment; null: the whole run. */
export function chooseMoment(ns: number | null, replace = false): void {
	const moved = ns === null ? null : movedTo(ns);
	if (moved) say(`the nearest moment of this file: ${formatTime(moved.at_ns)}, ${moved.name}`);
	go({ brush: ns === null ? null : { mode: 'moment', from: ns, to: ns } }, replace);
}

/** The mode of the next range: the last one that was used. */
export function rangeMode(): BrushMode {
	const mode = place.value.brush?.mode;
	return mode && mode !== 'moment' ? mode : 'kept';
}

export function chooseRange(from: number, to: number, mode: BrushMode, replace = false): void {
	if (inFile && from !== to) return say(`this file has moments, not ranges: mallow serve ${fileFacts()!.name} has both`);
	if (from === to || imported.value) return chooseMoment(to, replace);
	go({ brush: { mode, from, to } }, replace);
}

/** The next mode of a range. Of a moment: what lives then becomes what grew from the start to it. */
export function nextMode(): void {
	const brush = place.value.brush;
	if (!brush) return;
	if (inFile || imported.value) return;
	if (brush.mode === 'moment') return go({ brush: { mode: 'kept', from: 0, to: brush.to } });
	const modes = rangeModes.value;
	const at = modes.indexOf(brush.mode);
	go({ brush: { mode: modes[(at + 1) % modes.length]!, from: brush.from, to: brush.to } });
}

/* To the next of these, or the last one. */
function stepAmong(moments: { at_ns: number }[], direction: 1 | -1): void {
	const sorted = moments.map(({ at_ns: at }) => at).sort((a, b) => a - b);
	const now = place.value.brush?.to ?? (direction > 0 ? -1 : Infinity);
	const next = direction > 0 ? sorted.find((at) => at > now) : sorted.filter((at) => at < now).pop();
	if (next !== undefined) chooseMoment(next);
}

export const stepMark = (direction: 1 | -1): void => stepAmong(summary.value?.marks ?? [], direction);

/** Moves the moment, or the range as a whole, by a part of the run. */
export function moveBrush(part: number): void {
	const brush = place.value.brush;
	if (inFile) return stepAmong(fileFacts()!.moments, part > 0 ? 1 : -1);
	const step = Math.round(part * duration.value);
	if (!brush) return chooseMoment(part > 0 ? 0 : duration.value);
	const shift = Math.max(-brush.from, Math.min(duration.value - brush.to, step));
	const { peak: _, ...rest } = brush;
	go({ brush: { ...rest, from: brush.from + shift, to: brush.to + shift } }, true);
}
