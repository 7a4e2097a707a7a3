/*
 * Following a recording that is being written. The server says when it has grown (/events); then all that
 * is shown is asked for again, once a second at most, and never under a pointer that moves.
 */
import { effect, signal, untracked } from '@preact/signals';
import type { Recording } from '../api/generated';
import { renewAnswers } from '../api/answer';
import { get } from '../api/client';
import { inFile } from '../api/file';
import { liveTable } from './limits';
import { renewRecording } from './recording';
import { say } from './say';
import { duration, facts, go, place, recordings } from './state';

/** off: it is not being written. lost: the server does not let it be followed. */
export type LiveState = 'off' | 'following' | 'paused' | 'ended' | 'lost';

export const LIVE_WORDS: Record<LiveState, string> = {
	off: '', following: 'live', paused: 'paused', ended: 'ended', lost: 'not followed: too many pages are open',
};

export const liveState = signal<LiveState>('off');
/** What lives now, as the server said last. null: not live. */
export const liveBytes = signal<number | null>(null);
/** The moment that was marked here, in nanoseconds; null: none. */
export const liveMark = signal<number | null>(null);

interface Told {
	end_ns: number;
	live_bytes: number;
}

const STILL_MS = 400;
const BETWEEN_MS = 1000;

let stream: EventSource | null = null;
let followed: string | null = null;
let over = false; // it will not grow any more
let waiting = false; // something new is to be shown
let renewing = false;
let shownAt = 0;
let movedAt = 0;
let timer = 0;

/* When the view may change: milliseconds from now. */
function delay(): number {
	const now = performance.now();
	return Math.max(0, shownAt + BETWEEN_MS - now, movedAt + STILL_MS - now);
}

/* What ended where the recording did goes on ending there. */
function followEnd(before: number, after: number): void {
	const { brush } = place.value;
	if (!brush || brush.to !== before || after === before) return;
	go({ brush: { ...brush, from: brush.mode === 'moment' ? after : brush.from, to: after } }, true);
}

async function renew(): Promise<void> {
	const id = place.value.recording;
	const before = duration.value;
	waiting = false;
	renewing = true;
	try {
		untracked(renewAnswers);
		if (place.value.page === 'processes') recordings.value = await get<Recording[]>('/list');
		if (await renewRecording(id)) followEnd(before, duration.value);
	} catch {
		// The page says by itself that the server is not there; the stream begins anew when it is.
	}
	renewing = false;
	shownAt = performance.now();
	if (waiting) schedule();
}

function schedule(): void {
	clearTimeout(timer);
	if (liveState.value === 'paused' || document.hidden || renewing) return;
	timer = setTimeout(() => (delay() > 0 ? schedule() : void renew()), delay()) as unknown as number;
}

function grown(): void {
	waiting = true;
	schedule();
}

function told(event: Event): void {
	try {
		const { live_bytes: bytes } = JSON.parse((event as MessageEvent<string>).data) as Told;
		liveBytes.value = bytes;
	} catch {
		// A server of another version: what it tells of is asked for anyway.
	}
}

function stop(state: LiveState): void {
	stream?.close();
	stream = null;
	liveState.value = state;
	if (state !== 'following') liveBytes.value = null;
}

function begin(id: string): void {
	followed = id;
	over = false;
	stop('following');
	liveMark.value = null;
	stream = new EventSource(`/events?id=${encodeURIComponent(id)}`);
	stream.addEventListener('changed', (event) => {
		told(event);
		grown();
	});
	stream.addEventListener('ended', () => {
		const paused = liveState.value === 'paused';
		over = true;
		stop(paused ? 'paused' : 'ended');
		grown();
	});
	stream.addEventListener('list', () => {
		get<Recording[]>('/list').then((list) => (recordings.value = list), () => undefined);
	});
	// After an interruption the browser asks again by itself; what happened meanwhile is asked for at once.
	let opened = false;
	stream.addEventListener('open', () => {
		if (opened) grown();
		opened = true;
	});
	stream.addEventListener('error', () => {
		if (stream?.readyState === EventSource.CLOSED) stop('lost');
	});
}

/** Follows whatever recording is shown while it is being written, from now on. */
export function followRecording(): void {
	if (inFile) return;
	effect(() => {
		const known = facts.value;
		if (!known) return;
		untracked(() => {
			if (known.id === followed) return;
			if (known.writing) begin(known.id);
			else {
				followed = null;
				stop('off');
				liveMark.value = null;
			}
		});
	});
	addEventListener('pointermove', () => {
		movedAt = performance.now();
	}, { passive: true });
	document.addEventListener('visibilitychange', () => !document.hidden && waiting && schedule());
}

/** Stops to look, or goes on with what came meanwhile. */
export function togglePause(): void {
	if (liveState.value === 'following') liveState.value = 'paused';
	else if (liveState.value === 'paused') {
		liveState.value = over ? 'ended' : 'following';
		if (waiting) schedule();
	}
}

/** Remembers the end of what is shown. */
export function markNow(): void {
	if (liveState.value === 'off' || liveTable.value) return;
	liveMark.value = duration.value;
	say('marked: “grew since” shows the difference from here to now');
}

/** Shows what grew between the mark and now, as long as that goes on. */
export function showGrown(): void {
	if (liveMark.value !== null) go({ brush: { mode: 'grew', from: liveMark.value, to: duration.value } });
}

