/* How much of a recording the server has read, while a page waits for it. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { inFile } from '../api/file';
import { facts, place } from './state';

/** The part that is read, and how long the rest takes at that pace; null: not known. */
export const reading = signal<{ part: number; left_s: number | null } | null>(null);

let stream: EventSource | null = null;
let waiting = 0;
let first: { part: number; at: number } | null = null;

function told(event: MessageEvent<string>): void {
	const { id, done, total } = JSON.parse(event.data) as { id: string; done: number; total: number };
	if (id !== (facts.value?.id ?? place.value.recording) && place.value.recording !== 'last') return;
	const part = Math.min(1, done / total);
	const now = performance.now();
	if (!first || part < first.part) first = { part, at: now };
	const pace = (part - first.part) / (now - first.at);
	reading.value = { part, left_s: pace > 0 ? Math.ceil((1 - part) / pace / 1000) : null };
}

/** Asks for it as long as something waits. */
export function useReading(wanted: boolean): void {
	useEffect(() => {
		if (!wanted || inFile) return;
		if (!waiting++) {
			stream = new EventSource('/events');
			stream.addEventListener('progress', told);
		}
		return () => {
			if (--waiting) return;
			stream?.close();
			stream = null;
			first = null;
			reading.value = null;
		};
	}, [wanted]);
}

/** "The server reads the recording: 42 %, 6 s left." */
export function readingWords(): string {
	if (inFile) return 'Unpacking…';
	const known = reading.value;
	if (!known) return 'The server reads the recording…';
	return `The server reads the recording: ${Math.floor(known.part * 100)}\u00a0%${known.left_s ? `, ${known.left_s}\u00a0s left` : ''}`;
}
