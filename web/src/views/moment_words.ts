/* When a page's numbers are of, in words. */
import { leftWords, liveTable } from '../state/limits';
import { measure } from '../state/measure';
import { place, summary } from '../state/state';
import { formatTime } from '../text/units';

/** "at 2.89 s, the peak", "at 1.20 s", "at 2.00 s, allocated since 1.00 s", "from 1.00 s to 2.00 s". */
export function momentWords(): string {
	const { brush, conditions } = place.value;
	const peak = summary.value?.peak.at_ns;
	if (!brush && liveTable.value) return 'now';
	if (!brush) return Object.keys(conditions).length || !peak ? 'at its peak' : `at ${formatTime(peak)}, the peak`;
	if (brush.mode === 'moment') return `at ${formatTime(brush.to)}`;
	if (brush.mode === 'peak' && brush.peak !== undefined) return `at ${formatTime(brush.peak)}`;
	if (brush.mode === 'kept' && ['bytes', 'blocks'].includes(measure.value.column)) return `at ${formatTime(brush.to)}, allocated since ${formatTime(brush.from)}`;
	return `from ${formatTime(brush.from)} to ${formatTime(brush.to)}`;
}

/** What the metric counts, as a sentence says it behind the number. */
export function metricWords(): string {
	const { metric, column } = measure.value;
	const all = place.value.brush?.mode === 'freed' ? 'freed' : 'allocated';
	if (metric === 'bytes') return column === 'total' ? all : 'live';
	if (metric === 'blocks') return column === 'calls' ? `blocks ${all}` : 'blocks live';
	return { calls: 'calls', temporary: 'temporary calls', slack: 'slack', leaked: leftWords.value }[metric];
}

/** What a temporary call is. */
export const TEMPORARY = 'freed with no other allocation by the same thread in between';

/** Of bytes and blocks that live, the moment; other numbers are of all that matches. */
export const whenWords = (): string => {
	const { column } = measure.value;
	return column === 'bytes' || column === 'blocks' || place.value.brush ? ` ${momentWords()}` : ' in the run';
};
