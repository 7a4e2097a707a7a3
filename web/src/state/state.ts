/* The state of the page: where it is (place.ts), and what follows from that. */
import { computed, signal } from '@preact/signals';
import type { Info, Recording, Summary } from '../api/generated';
import type { Params } from '../api/client';
import { brushConditions, type Brush } from './brush';
import { addressHere, placeHere } from './here';
import { formatPlace, parsePlace, type Page, type Place } from './place';

export const place = signal<Place>(parsePlace(location.hash));

/** The recordings that the server has; null: not asked yet. */
export const recordings = signal<Recording[] | null>(null);

/** What the recording is, without any filter; null: not known yet. */
export const summary = signal<Summary | null>(null);

/** How many wrong frees were found; 0 also before that is known. */
export const wrongFrees = signal(0);

/** A place made of this one: what is not named stays. `view` is merged key by key, '' removes one. */
export interface Change {
	page?: Page;
	recording?: string;
	brush?: Brush | null;
	metric?: Place['metric'];
	conditions?: Record<string, string>;
	view?: Record<string, string>;
}

/* Most settings hold for one page: another begins without them, but with the strip's span and the search. */
function viewOf(change: Change): Record<string, string> {
	const { zoom = '', find = '' } = place.value.view;
	const old = change.page && change.page !== place.value.page ? { zoom, find } : place.value.view;
	const merged = { ...old, ...change.view };
	return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ''));
}

/** The address of a place made of this one: for links. */
export function placeWith(change: Change): Place {
	const { view: _, ...rest } = change;
	return placeHere({ ...place.value, ...rest, view: viewOf(change), unknown: [] }, place.value);
}

export const linkTo = (change: Change): string => formatPlace(placeWith(change));

/**
 * Goes there. `replace`: as a part of the step before, so that Back undoes both: while something is
 * dragged or typed.
 */
export function go(change: Change, replace = false): void {
	const next = placeWith(change);
	const hash = formatPlace(next);
	place.value = next;
	if (hash === location.hash) return;
	if (replace) history.replaceState(null, '', hash);
	else history.pushState(null, '', hash);
}

/** Follows the address, from now on: Back, Forward, and what a user types there. */
export function followAddress(): void {
	const take = () => {
		place.value = addressHere(parsePlace(location.hash));
	};
	take();
	addEventListener('popstate', take);
	addEventListener('hashchange', take);
}

/** Path of the recording's answers. */
export const dataPath = (name: string): string => `/data/${place.value.recording}/${name}`;

/** All conditions that hold: the user's, and those of the brush. */
export const conditions = computed<Record<string, string>>(() => ({
	...place.value.conditions,
	...brushConditions(place.value.brush),
}));

/** Those of this side: for paths that have no differences. */
export const plainConditions = computed<Params>(() =>
	Object.fromEntries(Object.entries(conditions.value).filter(([name]) => !name.startsWith('b.'))),
);

/** What /space takes: the user's conditions, and the one moment that the brush means there. */
export const spaceParams = computed<Params>(() => {
	const { brush, conditions: own } = place.value;
	const { alive_at: _, ...rest } = plainConditions.value;
	if (!brush) return { ...rest, at: own.alive_at ?? 'peak' };
	const at = brush.mode === 'freed' ? brush.from : ((brush.mode === 'peak' ? brush.peak : undefined) ?? brush.to);
	return { ...rest, at: `${at}ns` };
});

/** Whether what is shown is a difference: the brush's "grew", or what Compare was given. */
export const isDifference = computed(() => Object.keys(conditions.value).some((name) => name.startsWith('b.')));

/** The user's own conditions without those about a moment: what curves over the run are drawn of. */
export const standingConditions = computed<Params>(() =>
	Object.fromEntries(Object.entries(place.value.conditions).filter(([name]) => !name.startsWith('b.') && name !== 'alive_at')),
);

/** What `mallow info` says of it. */
export const facts = computed<Info | null>(() => summary.value?.facts ?? null);

/** The length of the recording in nanoseconds. */
export const duration = computed(() => Math.round((facts.value?.duration_s ?? 0) * 1e9));

/** A thread by its name and its number: names are no more than fifteen letters, and several threads have the same. */
export function threadWords(id: number | null): string {
	if (id === null) return 'no thread';
	const name = summary.value?.threads.find((thread) => thread.thread === id)?.name;
	return name ? `${name} ${id}` : String(id);
}
