/* The part of a curve that is looked at, out of the whole one. */
import type { Series } from '../api/generated';
import type { Question } from './question';

const nanoseconds = (moment: string | undefined): number | null => (moment === undefined ? null : Number(/^(\d+)ns$/.exec(moment)?.[1] ?? NaN));

/** A series of the span from `start` to `end`; the whole one if they are not given. */
export function within(series: Series, { start, end }: Question['params']): Series {
	const from = nanoseconds(start);
	const to = nanoseconds(end);
	if (from === null && to === null) return series;
	const [low, high] = [from ?? series.start_ns, to ?? series.end_ns];
	const cut = <T,>(columns: Record<string, T>, times: number[]): Record<string, T> => {
		const first = times.findIndex((at) => at >= low);
		const last = times.findIndex((at) => at >= high);
		const slice = (value: T) => (Array.isArray(value) && value.length === times.length ? (value.slice(first < 0 ? times.length : first, last < 0 ? undefined : last + 1) as T) : value);
		return Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, slice(value)]));
	};
	const columns = cut(series as unknown as Record<string, unknown>, series.at_ns) as unknown as Series;
	return {
		...columns, start_ns: low, end_ns: high,
		curves: series.curves.map((curve) => cut(curve as unknown as Record<string, unknown>, series.at_ns) as unknown as Series['curves'][0]),
		memory: cut(series.memory as unknown as Record<string, unknown>, series.memory.at_ns) as unknown as Series['memory'],
	};
}
