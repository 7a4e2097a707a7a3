/* Rows of an answer that comes in pages: those that are seen, and the next ones in the direction of scrolling. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { edition, fetchAnswer } from './answer';
import { ApiError, target, type Params } from './client';
import { retryDelay } from './reach';

export const PAGE = 200;

const wait = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

interface Set<T> {
	query: string;
	/** Of which reading of the recording. */
	edition: number;
	pages: Map<number, T>;
	asked: Map<number, Promise<void>>;
}

export interface Pages<T> {
	/** The first page of what is shown; null: none yet. */
	first: T | null;
	/** The page with that row, and the row's index in it; null: not here yet. */
	at: (row: number) => { page: T; index: number } | null;
	/** Says which rows are seen. */
	want: (from: number, to: number) => void;
	/** The rows are of an earlier question. */
	stale: boolean;
	error: ApiError | null;
	since: number | null;
	retry: () => void;
}

export function usePages<T>(path: string, params: Params): Pages<T> {
	const [, redraw] = useState(0);
	const query = target(path, params);
	const version = edition.value;
	const shown = useRef<Set<T>>({ query: '', edition: version, pages: new Map(), asked: new Map() });
	const next = useRef<Set<T> | null>(null);
	const state = useRef<{ error: ApiError | null; since: number | null; gone: boolean }>({ error: null, since: null, gone: false }).current;
	const update = () => {
		if (!state.gone) redraw((n) => n + 1);
	};

	const ask = (set: Set<T>, page: number): Promise<void> => {
		const running = set.asked.get(page);
		if (running) return running;
		const at = target(path, { ...params, count: PAGE, skip: page * PAGE || undefined });
		const attempt = (number: number): Promise<void> =>
			fetchAnswer<T>(at).then(
				(data) => {
					set.pages.set(page, data);
					if (set === shown.current) update();
				},
				(error) => {
					if (!(error instanceof ApiError)) throw error;
					// Without a server what is there stays, and the page is asked for again.
					const wanted = !state.gone && (set === shown.current || set === next.current);
					if (error.status === 0 && wanted) return wait(retryDelay(number)).then(() => attempt(number + 1));
					set.asked.delete(page);
					state.error = error;
					update();
				},
			);
		const promise = attempt(0);
		set.asked.set(page, promise);
		return promise;
	};

	// New rows take the place of the old ones when the first page is here: nothing flickers.
	const begin = () => {
		const set: Set<T> = { query, edition: version, pages: new Map(), asked: new Map() };
		next.current = set;
		state.error = null;
		state.since = performance.now();
		void ask(set, 0).then(() => {
			if (next.current !== set) return;
			next.current = null;
			state.since = null;
			if (set.pages.has(0)) shown.current = set;
			update();
		});
		update();
	};
	useEffect(() => {
		if (shown.current.query !== query || shown.current.edition !== version) begin();
	}, [query, version]);
	useEffect(() => {
		state.gone = false;
		return () => {
			state.gone = true;
		};
	}, []);

	const set = shown.current;
	return {
		first: set.pages.get(0) ?? null,
		at: (row) => {
			const page = set.pages.get(Math.floor(row / PAGE));
			return page ? { page, index: row % PAGE } : null;
		},
		want: (from, to) => {
			if (set.query !== query) return;
			for (let page = Math.floor(Math.max(0, from) / PAGE); page <= Math.floor(to / PAGE); page++) void ask(set, page);
		},
		stale: set.query !== query,
		error: set.query !== query || !set.pages.size ? state.error : null,
		since: state.since,
		retry: begin,
	};
}
