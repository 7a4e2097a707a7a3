/* An answer of the server as a view uses it: the latest one, whether it is out of date, why not. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { signal } from '@preact/signals';
import { ApiError, get, target, type Params } from './client';
import { retryDelay } from './reach';

export interface Answer<T> {
	/** The last answer, maybe to an earlier question (`stale`); null before the first. */
	data: T | null;
	/** The target that `data` answers. */
	of: string | null;
	stale: boolean;
	error: ApiError | null;
	/** When the request under way began, by performance.now(); null: none is. */
	since: number | null;
	retry: () => void;
}

/** How many questions are under way, to the server or to a worker: the page is busy while it is not 0. */
export const underWay = signal(0);

const KEPT = 48;
const kept = new Map<string, unknown>();

/* The latest answers, so that going back shows what was there at once. */
function keep(at: string, data: unknown): void {
	kept.delete(at);
	kept.set(at, data);
	if (kept.size > KEPT) kept.delete(kept.keys().next().value as string);
}

const pending = new Map<string, Promise<unknown>>();

/** Which reading of the recording answers are of: a recording that is being written has a next one. */
export const edition = signal(0);

/** The recording has grown: each view asks again, and shows what it has until the answer is here. */
export function renewAnswers(): void {
	kept.clear();
	pending.clear();
	edition.value++;
}

/** One fetch for all that ask for the same target at a time. */
export function fetchAnswer<T>(at: string): Promise<T> {
	const known = kept.get(at);
	if (known !== undefined) return Promise.resolve(known as T);
	const running = pending.get(at);
	if (running) return running as Promise<T>;
	underWay.value++;
	const began = edition.peek();
	const promise = get<T>(at)
		.then((data) => {
			if (began === edition.peek()) keep(at, data);
			return data;
		})
		.finally(() => {
			underWay.value--;
			if (pending.get(at) === promise) pending.delete(at);
		});
	pending.set(at, promise);
	return promise;
}

/**
 * Asks for a path, null: for nothing. While a question changes quickly, as when the brush is
 * dragged, one request is in flight; when it is answered, the latest question is asked next.
 */
export function useAnswer<T>(path: string | null, params: Params = {}): Answer<T> {
	const at = path === null ? null : target(path, params);
	const [, redraw] = useState(0);
	const version = edition.value;
	const state = useRef<{
		version: number;
		data: T | null; of: string | null; error: ApiError | null; since: number | null;
		flying: string | null; wanted: string | null; gone: boolean; failures: number;
	}>({ version, data: null, of: null, error: null, since: null, flying: null, wanted: null, gone: false, failures: 0 }).current;

	const askAgain = (at: string) => {
		setTimeout(() => {
			if (!state.gone && state.wanted === at && state.flying === null) fly(at);
		}, retryDelay(state.failures++));
	};
	const fly = (next: string) => {
		const began = edition.peek();
		state.flying = next;
		state.since ??= performance.now();
		fetchAnswer<T>(next)
			.then(
				(data) => Object.assign(state, { data, of: next, version: began, error: null, failures: 0 }),
				(error) => {
					if (!(error instanceof ApiError)) throw error;
					// Without a server what is there stays, and the question is asked again.
					if (error.status === 0) askAgain(next);
					else if (next === state.wanted) Object.assign(state, { error, of: next, version: began });
				},
			)
			.finally(() => {
				state.flying = null;
				if (state.gone) return;
				if (state.wanted !== null && (state.wanted !== next || began !== edition.peek())) return fly(state.wanted);
				state.since = null;
				redraw((n) => n + 1);
			});
		if (!state.gone) redraw((n) => n + 1);
	};

	// What is kept is there at the first drawing: nothing flickers on the way back.
	const known = at === null ? undefined : (kept.get(at) as T | undefined);
	const answered = state.of === at && state.version === version;
	if (known !== undefined && !answered) Object.assign(state, { data: known, of: at, version, error: null });

	useEffect(() => {
		state.wanted = at;
		const here = state.of === at && state.version === version;
		if (at !== null && !here && state.flying === null) fly(at);
	}, [at, version]);
	useEffect(() => {
		state.gone = false;
		return () => {
			state.gone = true;
		};
	}, []);

	return {
		data: at === null ? null : state.data,
		of: state.of,
		stale: at !== null && state.of !== at,
		error: state.of === at ? state.error : null,
		since: state.since,
		retry: () => {
			if (at !== null && state.flying === null) {
				state.error = null;
				state.of = null;
				fly(at);
			}
		},
	};
}
