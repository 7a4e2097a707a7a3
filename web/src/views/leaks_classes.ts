/* The shapes in which never freed memory grows, as the server judges them, and their words. */
import type { Finding, SumsTable } from '../api/generated';
import { formatBytes, formatCount, formatTime } from '../text/units';
import { keyOf } from './site_key';

export interface LeakClass {
	shape: string;
	title: string;
	/** Ranked by bytes a second; else by bytes. */
	byRate: boolean;
}

/** In the order of the page. */
export const CLASSES: LeakClass[] = [
	{ shape: 'grows', title: 'Grows to the end', byRate: true },
	{ shape: 'steps', title: 'Grows in steps', byRate: true },
	{ shape: 'teardown', title: 'Grew to the end, freed only there', byRate: false },
	{ shape: 'stopped', title: 'Grew, then stopped', byRate: false },
	{ shape: 'flat', title: 'Filled, then flat', byRate: false },
	{ shape: 'once', title: 'Once', byRate: false },
	{ shape: 'late', title: 'Last moments', byRate: false },
];

/** Of one function. Times in nanoseconds. */
export interface Leak {
	shape: string;
	trust: string | null;
	name: string | null;
	file: string | null;
	line: number | null;
	bytes: number;
	/** Bytes a second of what grows to the end, else 0. */
	rate: number;
	since: number;
	until: number;
	steps: number;
	curve: number[];
}

/** What sums by function with shapes say. */
export function leaksOf(sums: SumsTable): Leak[] {
	const { shapes } = sums;
	if (!shapes) return [];
	return sums.key.map((_, row) => ({
		...keyOf(sums, row),
		shape: shapes.shape[row]!,
		trust: shapes.trust[row] ?? null,
		bytes: sums.leaked[row]!,
		rate: shapes.rate[row]!,
		since: shapes.since_ns[row]!,
		until: shapes.until_ns[row]!,
		steps: shapes.steps[row]!,
		curve: sums.curve[row] ?? [],
	}));
}

/** What was freed after all, when the program ended; the server finds it for the whole run. */
export function teardownsOf(findings: Finding[]): Leak[] {
	return findings
		.filter(({ kind }) => kind === 'grows_to_teardown')
		.map((finding) => ({
			shape: 'teardown', trust: finding.confidence, name: finding.function, file: finding.file, line: finding.line,
			bytes: finding.bytes, rate: 0, since: 0, until: 0, steps: 0, curve: [],
		}));
}

const GIGABYTE = 1e9;

/** How long until a gigabyte more, if it goes on like that. */
export function timeToGigabyte(bytesPerSecond: number): string {
	const minutes = GIGABYTE / bytesPerSecond / 60;
	if (minutes < 1) return 'less than a minute';
	if (minutes < 90) return `${Math.round(minutes)} min`;
	const hours = minutes / 60;
	return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} days`;
}

const sinceWords = ({ since }: Leak): string => (since ? `since ${formatTime(since)}` : 'since the start');

/** What is said of a leak beneath its heading, with the amount in front. */
export function leakWords(leak: Leak): { amount: string; words: string } {
	const bytes = formatBytes(leak.bytes);
	switch (leak.shape) {
		case 'grows':
			return leak.rate
				? { amount: `${bytes}, +${formatBytes(leak.rate)}/s`, words: `to the end: 1 GB in ${timeToGigabyte(leak.rate)}.` }
				: { amount: bytes, words: 'and growing to the end.' };
		case 'steps':
			return { amount: bytes, words: `in ${formatCount(leak.steps)} steps.` };
		case 'teardown':
			return { amount: bytes, words: 'grew until it was freed at the end.' };
		case 'stopped':
			return { amount: bytes, words: `grew until ${formatTime(leak.until)}, then stopped.` };
		case 'flat':
			return { amount: bytes, words: `${sinceWords(leak)}, not growing: a cache?` };
		case 'once':
			return { amount: bytes, words: `${sinceWords(leak)}, once.` };
		default:
			return { amount: bytes, words: `${sinceWords(leak)}: perhaps only not freed yet.` };
	}
}

/** Leaks of a class, most important first. */
export function ofClass(leaks: Leak[], { shape, byRate }: LeakClass): Leak[] {
	const weight = ({ rate }: Leak) => (byRate ? rate : 0);
	return leaks.filter((leak) => leak.shape === shape).sort((a, b) => weight(b) - weight(a) || b.bytes - a.bytes);
}

const ALIKE = 0.02;

/** Of what is kept of each round: whether at least three rounds in a row keep the same; null: no. */
export function equalGains(bytes: number[]): { rounds: number; bytes: number } | null {
	let best: { rounds: number; bytes: number } | null = null;
	for (let i = 0; i < bytes.length; ) {
		let end = i + 1;
		while (end < bytes.length && Math.abs(bytes[end]! - bytes[i]!) <= ALIKE * bytes[i]!) end++;
		if (bytes[i]! > 0 && end - i >= 3 && end - i > (best?.rounds ?? 0)) best = { rounds: end - i, bytes: bytes[i]! };
		i = end;
	}
	return best;
}
