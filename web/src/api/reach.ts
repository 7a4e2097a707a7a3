/* Whether the server answers: a page outlives the server that it came from. */
import { signal } from '@preact/signals';

/** Since when no answer comes, by Date.now(); null: the last question was answered. */
export const unreachedSince = signal<number | null>(null);

/** When the last answer came. */
export const lastAnswer = signal<number | null>(null);

export function noteReached(): void {
	if (unreachedSince.value !== null) unreachedSince.value = null;
	lastAnswer.value = Date.now();
}

export function noteUnreached(): void {
	unreachedSince.value ??= Date.now();
}

const DELAYS_S = [1, 2, 5, 10];

/** How long to wait before the attempt of that number, from 0 on, in milliseconds. */
export const retryDelay = (attempt: number): number => 1000 * DELAYS_S[Math.min(attempt, DELAYS_S.length - 1)]!;
