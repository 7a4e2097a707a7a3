/* The curves of the time strip: /series as bands that lie one on the other. No drawing here. */
import type { Series, SeriesMemory } from '../../api/generated';
import { shortName } from '../../text/names';
import { formatBytes, formatShort } from '../../text/units';

type Column = Float64Array<ArrayBuffer>;

/** Bytes of pages at each step's end; null where it was not asked, or not answered yet. */
export type KeptPages = (number | null)[];

export interface Band {
	/** A colour of styles/tokens.css, or of the modules' palette. */
	colour: string;
	name: string;
	values: Column;
	/** Of samples: known where the line is. */
	sampled?: boolean;
}

export interface StripCurves {
	/** Seconds since the recording's start, at the steps' ends. */
	x: Column;
	/** From below. */
	bands: Band[];
	/** Drawn over the bands, in steps that are known: resident memory, null if the recording has no samples of it, or frees a second. */
	line: { name: string; values: Column; known?: Uint8Array } | null;
	/** Bytes of pages that live blocks keep, where that is known: a line through these points. */
	kept?: KeptPages | null;
	format: (value: number) => string;
	/** What is live, with slack. */
	live: Column;
	/** Steps in which it is known that live memory beyond the line was asked for and not touched. */
	untouched: Uint8Array;
}

/**
 * Samples at other times than x, as steps: each stays until the next one, the first also before it. A line between two
 * that are far apart would be a ramp that nobody saw.
 */
export function resample(at: number[], values: number[], x: number[]): Column {
	const result = new Float64Array(x.length);
	let next = 0;
	for (let i = 0; i < x.length; i++) {
		while (next < at.length && at[next]! <= x[i]!) next++;
		result[i] = values[Math.max(next - 1, 0)]!;
	}
	return result;
}

/* Between two samples nothing is known: a step counts if one was taken not far from it. */
const NEAR = 1 / 100;

/** Whether a sample of the process's memory was taken near that moment. */
export function isSampled(series: Series, at: number): boolean {
	const reach = (series.end_ns - series.start_ns) * NEAR;
	return series.memory.at_ns.some((time) => Math.abs(time - at) <= reach);
}

/* A gap that is so many times the usual one, or such a part of the run, is one in which nobody looked. */
const MUCH_LONGER = 4;
const LONG = 1 / 4;

/**
 * Which moments of `x` lie between samples that are near each other, or near the first or the last one. `usual`: how far
 * samples lie apart in the whole recording; a step has one at most.
 */
export function sampledSteps({ usual_ns: usual, at_ns: at }: Pick<SeriesMemory, 'usual_ns' | 'at_ns'>, x: number[], run: number): Uint8Array {
	const step = x.length > 1 ? (x[x.length - 1]! - x[0]!) / (x.length - 1) : 0;
	const reach = Math.min(run * LONG, MUCH_LONGER * Math.max(usual, step));
	let next = 0;
	return Uint8Array.from(x, (time) => {
		while (next < at.length && at[next]! <= time) next++;
		const before = at[next - 1] ?? -Infinity;
		const after = at[next] ?? Infinity;
		const gap = next === 0 ? after - time : next === at.length ? time - before : after - before;
		return gap <= reach || time === before ? 1 : 0;
	});
}

function untouchedSteps(series: Series, live: Column, resident: Column | null): Uint8Array {
	const { at_ns: samples } = series.memory;
	const reach = (series.end_ns - series.start_ns) * NEAR;
	let next = 0;
	return Uint8Array.from(series.at_ns, (time, i) => {
		while (next + 1 < samples.length && Math.abs(samples[next + 1]! - time) <= Math.abs(samples[next]! - time)) next++;
		const known = samples.length > 0 && Math.abs(samples[next]! - time) <= reach;
		return resident && known && live[i]! > resident[i]! ? 1 : 0;
	});
}

/** The band of a live table: all of it may still be freed. */
export const LIVES_NOW = 'lives now';

/** The band of dumps in a row, which do not say what becomes of it. */
export const LIVE = 'live';

const FATES: Record<string, [string, string]> = {
	never_freed: ['never-freed', 'never freed'],
	freed_late: ['freed-late', 'freed late'],
	freed_soon: ['freed-soon', 'freed sooner'],
};

function curveBands(series: Series, unfreed: string): Band[] {
	if (unfreed === LIVE) return [{ colour: 'freed-late', name: LIVE, values: Float64Array.from(series.live_last) }];
	return series.curves.map((curve, i) => {
		const fate = curve.name === null ? undefined : FATES[curve.name];
		const rest = curve.others > 0;
		return {
			colour: (unfreed === LIVES_NOW && fate ? 'freed-late' : fate?.[0]) ?? (rest ? 'files' : `module-${(i % 8) + 1}`),
			name: (curve.name === 'never_freed' ? unfreed : fate?.[1]) ?? (curve.name !== null ? shortName(curve.name) : rest ? `${curve.others} others` : String(curve.thread ?? 'no name')),
			values: Float64Array.from(curve.live_last),
		};
	});
}

/** What is resident beyond what the program was handed out, and the rest of the process. */
function memoryBands(series: Series, live: Column): Band[] {
	const { memory } = series;
	if (!memory.at_ns.length) return [];
	const sampled = (values: number[]) => resample(memory.at_ns, values, series.at_ns);
	const anonymous = sampled(memory.anonymous);
	const shared = sampled(memory.shared);
	const files = sampled(memory.file).map((value, i) => value + shared[i]!);
	const swap = sampled(memory.swap);
	const kept = anonymous.map((value, i) => Math.max(0, value - live[i]!));
	const bands = [
		{ colour: 'not-handed-out', name: 'resident, not handed out', values: kept, sampled: true },
		{ colour: 'files', name: 'files and code', values: files, sampled: true },
	];
	if (swap.some((value) => value > 0)) bands.push({ colour: 'control', name: 'swap', values: swap, sampled: true });
	return bands;
}

/**
 * `whole`: the curves are of all blocks, by their fate. Only then what is resident beyond them says something.
 * `unfreed`: what that is called which was not freed. `run`: nanoseconds of the whole run, of which `series` may be a part.
 */
export function stripCurves(series: Series, whole: boolean, unfreed = 'never freed', run = series.end_ns - series.start_ns): StripCurves {
	const bands = curveBands(series, unfreed);
	const slack = Float64Array.from(series.live_slack);
	if (unfreed !== LIVE) bands.push({ colour: 'slack', name: 'slack', values: slack });
	const live = slack.map((value, i) => value + series.live_last[i]!);
	const { memory } = series;
	const resident = whole && memory.at_ns.length ? resample(memory.at_ns, memory.resident, series.at_ns) : null;
	return {
		x: Float64Array.from(series.at_ns, (ns) => ns / 1e9),
		bands: whole ? [...bands, ...memoryBands(series, live)] : bands,
		line: resident && { name: 'resident', values: resident, known: sampledSteps(memory, series.at_ns, run) },
		format: formatBytes,
		live,
		untouched: untouchedSteps(series, live, resident),
	};
}

const RATE_STEPS = 200;

/** How many allocations and frees a second there were: of some steps together, or all would be spikes. */
export function rateCurves(series: Series): StripCurves {
	const joined = Math.ceil(series.at_ns.length / RATE_STEPS);
	const begins = series.at_ns.map((_, i) => i).filter((i) => i % joined === 0);
	const last = (i: number) => Math.min(i + joined, series.at_ns.length) - 1;
	const at = (columns: number[]) => Float64Array.from(begins, (i) => columns[last(i)]!);
	const rate = (counts: number[]) =>
		Float64Array.from(begins, (i) => {
			const sum = counts.slice(i, last(i) + 1).reduce((all, count) => all + count, 0);
			return (sum * 1e9) / Math.max(1, series.at_ns[last(i)]! - (i ? series.at_ns[i - 1]! : series.start_ns));
		});
	return {
		x: at(series.at_ns).map((ns) => ns / 1e9),
		bands: [{ colour: 'freed-soon', name: 'allocations', values: rate(series.allocated_blocks) }],
		line: { name: 'frees', values: rate(series.freed_blocks) },
		format: (value) => `${formatShort(value)}/s`,
		live: at(series.live_last),
		untouched: new Uint8Array(begins.length),
	};
}

/** The bands' upper edges, from below. */
export function stacked(bands: Band[]): Column[] {
	const edges: Column[] = [];
	for (const { values } of bands) {
		const below = edges[edges.length - 1];
		edges.push(below ? values.map((value, i) => value + below[i]!) : values);
	}
	return edges;
}

const MOMENTS = 24;

/** At which of so many steps pages are asked for: their ends are moments of the other curves, too. */
export function askedSteps(steps: number): number[] {
	const count = Math.min(MOMENTS, steps);
	return Array.from({ length: count }, (_, i) => Math.ceil(((i + 1) * steps) / count) - 1);
}

/** The step nearest to another one in which something is known; -1: nowhere. */
export function nearestKnown(values: KeptPages, step: number): number {
	let found = -1;
	values.forEach((value, i) => {
		if (value !== null && (found < 0 || Math.abs(i - step) < Math.abs(found - step))) found = i;
	});
	return found;
}

/** The step whose end is nearest. */
export function nearestStep(x: ArrayLike<number>, seconds: number): number {
	let low = 0;
	let high = x.length - 1;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (x[middle]! < seconds) low = middle + 1;
		else high = middle;
	}
	return low > 0 && seconds - x[low - 1]! < x[low]! - seconds ? low - 1 : low;
}
