/*
 * The states of an answer: nothing for 200 ms, then the shape of what will come, from 1 s on words;
 * what is out of date stays in its place and dims; an error is the server's line.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answer } from '../api/answer';
import { readingWords, useReading } from '../state/reading';
import { NOT_HERE, type ApiError } from '../api/client';

const SKELETON_MS = 200;
const DIM_MS = 120;
/** After so long a view says what it waits for. */
export const WORDS_MS = 1000;

/** How long an answer has been waited for, in the steps that matter here. */
function useWaiting(since: number | null): number {
	const [, redraw] = useState(0);
	const waited = since === null ? 0 : performance.now() - since;
	useEffect(() => {
		if (since === null) return;
		const next = [DIM_MS, SKELETON_MS, WORDS_MS].find((step) => step > performance.now() - since);
		if (next === undefined) return;
		const timer = setTimeout(() => redraw((n) => n + 1), next - (performance.now() - since) + 1);
		return () => clearTimeout(timer);
	});
	return waited;
}

/** Notes each time when a view has what it shows, for tests and measurements; null or false: not yet. */
export function useSeen(shown: unknown): void {
	useEffect(() => {
		if (shown) performance.mark('mallow:view');
	}, [shown]);
}

export function Failure({ error, retry }: { error: ApiError; retry: () => void }) {
	return (
		<div class="failure" role="alert">
			<p>{error.message}</p>
			{error.status === NOT_HERE ? null : (
				<button type="button" onClick={retry}>
					Try again
				</button>
			)}
		</div>
	);
}

/** Draws `children` of the answer's data. `height`: of the skeleton, so that nothing moves later. */
export function Shown<T>(props: {
	answer: Answer<T>;
	height?: number;
	class?: string;
	children: (data: T) => ComponentChildren;
}) {
	const { answer } = props;
	const waited = useWaiting(answer.since);
	useReading(answer.data === null && !answer.error && waited >= WORDS_MS);
	if (answer.error) return <Failure error={answer.error} retry={answer.retry} />;
	if (answer.data === null)
		return (
			<div class={waited >= SKELETON_MS ? 'skeleton' : ''} style={{ minHeight: `${props.height ?? 120}px` }} aria-busy="true">
				{waited >= WORDS_MS ? readingWords() : ''}
			</div>
		);
	const dim = answer.stale && waited >= DIM_MS;
	return (
		<div class={`${props.class ?? ''} shown${dim ? ' dim' : ''}`} aria-busy={answer.stale}>
			{props.children(answer.data)}
		</div>
	);
}
