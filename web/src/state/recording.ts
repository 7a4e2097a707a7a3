/* What is known of the recording before any question: the list, and its summary. */
import { signal, untracked } from '@preact/signals';
import type { Findings, Recording, Summary } from '../api/generated';
import { ApiError } from '../api/client';
import { fetchAnswer } from '../api/answer';
import { retryDelay } from '../api/reach';
import { recordings, summary, wrongFrees } from './state';

/** Why there is no recording to be shown. */
export const failure = signal<ApiError | null>(null);

let shown: string | null = null;

/** Takes what came to the recording since: what is shown stays until the new facts are here. */
export async function renewRecording(id: string): Promise<Summary | null> {
	const data = await fetchAnswer<Summary>(`/data/${id}/summary`);
	if (shown !== id) return null;
	summary.value = data;
	return data;
}

/** Loads what the frame shows of a recording, unless it is there. */
export function loadRecording(id: string, again = false): void {
	if (id === shown && !again) return;
	shown = id;
	untracked(() => {
		summary.value = null;
		wrongFrees.value = 0;
		failure.value = null;
	});
	fetchAnswer<Summary>(`/data/${id}/summary`).then(
		(data) => {
			if (shown === id) summary.value = data;
		},
		(error) => {
			if (!(error instanceof ApiError)) throw error;
			if (shown !== id) return;
			failure.value = error;
			if (error.status === 0) setTimeout(() => shown === id && loadRecording(id, true), retryDelay(3));
		},
	);
	fetchAnswer<Findings>(`/data/${id}/findings`).then(
		({ findings }) => {
			if (shown === id) wrongFrees.value = findings.find(({ kind }) => kind === 'wrong_frees')?.numbers.calls ?? 0;
		},
		() => {
			// Without findings the page of errors is not offered; its address still works.
		},
	);
	fetchAnswer<Recording[]>('/list').then(
		(list) => {
			recordings.value = list;
		},
		() => {
			// The summary says what is wrong; without the list there is no choice of recordings.
		},
	);
}
