/* The curves of the time strip: /series as bands that lie one on the other. No drawing here. */
import type { Series } from '../../api/generated';

type Column = Float64Array<ArrayBuffer>;

export interface Band {
	/** A colour of styles/tokens.css, or of the modules' palette. */
	colour: string;
	name: string;
	values: Column;
}

export interface StripCurves {
	/** Seconds since the recording's start, at the steps' ends. */
	x: Column;
	/** From below. */
	bands: Band[];
	/** Resident memory; null: the recording has no samples of it. */
	resident: Column | null;
	/** What is live, with slack: beyond `resident` it was asked for and not touched. */
	live: Column;
}

/** Samples at other times than x, as a line between them; before the first and after the last they stay. */
export function resample(at: number[], values: number[], x: number[]): Column {
	const result = new Float64Array(x.length);
	let next = 0;
	for (let i = 0; i < x.length; i++) {
		const time = x[i]!;
		while (next < at.length && at[next]! < time) next++;
		if (next === 0) result[i] = values[0]!;
		else if (next === at.length) result[i] = values[next - 1]!;
		else {
			const before = at[next - 1]!;
			const part = (time - before) / (at[next]! - before);
			result[i] = values[next - 1]! + part * (values[next]! - values[next - 1]!);
		}
	}
	return result;
}

const FATES: Record<string, [string, string]> = {
	never_freed: ['never-freed', 'never freed'],
	freed_late: ['freed-late', 'freed late'],
	freed_soon: ['freed-soon', 'freed sooner'],
};

function curveBands(series: Series): Band[] {
	return series.curves.map((curve, i) => {
		const fate = curve.name === null ? undefined : FATES[curve.name];
		const rest = curve.others > 0;
		return {
			colour: fate?.[0] ?? (rest ? 'files' : `module-${(i % 8) + 1}`),
			name: fate?.[1] ?? curve.name ?? `${curve.others} others`,
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
		{ colour: 'not-handed-out', name: 'resident, not handed out', values: kept },
		{ colour: 'files', name: 'files and code', values: files },
	];
	if (swap.some((value) => value > 0)) bands.push({ colour: 'control', name: 'swap', values: swap });
	return bands;
}

export function stripCurves(series: Series, byFate: boolean): StripCurves {
	const bands = curveBands(series);
	const slack = Float64Array.from(series.live_slack);
	bands.push({ colour: 'slack', name: 'slack', values: slack });
	const live = slack.map((value, i) => value + series.live_last[i]!);
	const { memory } = series;
	return {
		x: Float64Array.from(series.at_ns, (ns) => ns / 1e9),
		bands: byFate ? [...bands, ...memoryBands(series, live)] : bands,
		resident: byFate && memory.at_ns.length ? resample(memory.at_ns, memory.resident, series.at_ns) : null,
		live,
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
