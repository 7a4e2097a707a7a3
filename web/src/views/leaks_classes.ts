/* The shapes in which never freed memory grows, as the server judges them, and their words. */
import type { Finding } from '../api/findings';
import { formatBytes, formatCount, formatTime } from '../text/units';

export interface LeakClass {
	kind: string;
	title: string;
	/** Ranked by bytes a second; else by bytes. */
	byRate: boolean;
}

/** In the order of the page. */
export const CLASSES: LeakClass[] = [
	{ kind: 'never_freed_grows', title: 'Grows to the end', byRate: true },
	{ kind: 'never_freed_steps', title: 'Grows in steps', byRate: true },
	{ kind: 'grows_to_teardown', title: 'Grew to the end, freed only there', byRate: false },
	{ kind: 'never_freed_stopped', title: 'Grew, then stopped', byRate: false },
	{ kind: 'never_freed_flat', title: 'Filled, then flat', byRate: false },
	{ kind: 'never_freed_once', title: 'Once', byRate: false },
	{ kind: 'never_freed_late', title: 'Last moments', byRate: false },
];

const GIGABYTE = 1e9;

/** How long until a gigabyte more, if it goes on like that. */
export function timeToGigabyte(bytesPerSecond: number): string {
	const minutes = GIGABYTE / bytesPerSecond / 60;
	if (minutes < 1) return 'less than a minute';
	if (minutes < 90) return `${Math.round(minutes)} min`;
	const hours = minutes / 60;
	return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} days`;
}

/** What is said of a finding beneath its heading, with the amount in front. */
export function leakWords(finding: Finding): { amount: string; words: string } {
	const { numbers } = finding;
	const bytes = formatBytes(finding.bytes);
	const rate = numbers.bytes_per_second ?? 0;
	const since = numbers.since_ns !== undefined ? ` since ${formatTime(numbers.since_ns)}` : '';
	switch (finding.kind) {
		case 'never_freed_grows':
			return rate
				? { amount: `${bytes}, +${formatBytes(rate)}/s`, words: `to the end: 1 GB in ${timeToGigabyte(rate)}.` }
				: { amount: bytes, words: `and growing to the end.` };
		case 'never_freed_steps':
			return { amount: bytes, words: `in ${formatCount(numbers.steps ?? 0)} steps.` };
		case 'grows_to_teardown':
			return { amount: bytes, words: 'grew to the end, and was freed only there.' };
		case 'never_freed_stopped':
			return { amount: bytes, words: `grew${numbers.until_ns !== undefined ? ` until ${formatTime(numbers.until_ns)}` : ''}, then stopped.` };
		case 'never_freed_flat':
			return { amount: bytes, words: `${since.trim() || 'filled'}, not growing: a cache?` };
		case 'never_freed_once':
			return { amount: bytes, words: `${since.trim()}, once.` };
		default:
			return { amount: bytes, words: `${since.trim()}: perhaps only not freed yet.` };
	}
}

/** Findings of a class, most important first. */
export function ofClass(findings: Finding[], { kind, byRate }: LeakClass): Finding[] {
	const weight = (finding: Finding) => (byRate ? (finding.numbers.bytes_per_second ?? 0) : 0);
	return findings.filter((finding) => finding.kind === kind).sort((a, b) => weight(b) - weight(a) || b.bytes - a.bytes);
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
