/* The processes of a run: a tree of fork and exec, those that matter as rows of their own. */
import type { Recording, Time } from '../api/generated';

export interface ProcessRow {
	recording: Recording;
	level: number;
	/** Nanoseconds since the first of them began. */
	start: number;
	length: number;
}

export interface Processes {
	rows: ProcessRow[];
	/** Those below a hundredth of the sum of all peaks, if they are many. */
	small: Recording[];
	/** Nanoseconds from the begin of the first to the end of the last. */
	length: number;
}

const FEW = 8;
const PART = 0.01;

const between = (from: Time, to: Time): number => (to.secs - from.secs) * 1e9 + (to.fract_nsecs - from.fract_nsecs);
const lengthOf = ({ runtime }: Recording): number => runtime.secs * 1e9 + runtime.fract_nsecs;

/** `all`: small ones are rows, too. */
export function processRows(family: Recording[], all: boolean): Processes {
	if (!family.length) return { rows: [], small: [], length: 0 };
	const first = family.reduce((a, b) => (between(b.timestamp, a.timestamp) > 0 ? b : a)).timestamp;
	const peaks = family.reduce((sum, { peak }) => sum + peak, 0);
	const ids = new Set(family.map(({ id }) => id));
	const below = new Map<string | null, Recording[]>();
	for (const recording of family) {
		const parent = recording.parent && ids.has(recording.parent) ? recording.parent : null;
		below.set(parent, [...(below.get(parent) ?? []), recording]);
	}
	for (const children of below.values()) children.sort((a, b) => between(b.timestamp, a.timestamp));
	const few = all || family.length <= FEW;
	const rows: ProcessRow[] = [];
	const small: Recording[] = [];
	const ahead = (below.get(null) ?? []).map((recording) => ({ recording, level: 1 })).reverse();
	for (let next = ahead.pop(); next; next = ahead.pop()) {
		const { recording, level } = next;
		const kept = few || recording.peak >= peaks * PART;
		if (kept) rows.push({ recording, level, start: between(first, recording.timestamp), length: lengthOf(recording) });
		else small.push(recording);
		for (const child of [...(below.get(recording.id) ?? [])].reverse()) ahead.push({ recording: child, level: level + (kept ? 1 : 0) });
	}
	const length = family.reduce((end, one) => Math.max(end, between(first, one.timestamp) + lengthOf(one)), 0);
	return { rows, small, length };
}

/** Curves on one axis of `points` steps: what all of them had together at the end of each. */
export function sumCurves(curves: { start: number; length: number; values: number[] }[], length: number, points: number): number[] {
	return Array.from({ length: points }, (_, i) => {
		const at = (length * (i + 1)) / points;
		return curves.reduce((sum, { start, length: own, values }) => {
			if (at < start || at > start + own || !values.length) return sum;
			return sum + (values[Math.min(values.length - 1, Math.floor(((at - start) / (own || 1)) * values.length))] ?? 0);
		}, 0);
	});
}
