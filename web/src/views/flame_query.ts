/* What the flame graph's switches ask of /flame. */
import type { Params } from '../api/client';
import { measure } from '../state/measure';
import { conditions, isDifference, place } from '../state/state';

/** Rows beyond which recursion is folded, too. */
export const MANY_ROWS = 60;

export type Direction = 'callees' | 'callers' | 'both';
export type Merge = 'functions' | 'lines' | 'files' | 'modules';

export const direction = (): Direction => {
	const asked = place.value.view.direction;
	return asked === 'callers' || asked === 'both' ? asked : 'callees';
};

export const merge = (): Merge => {
	const asked = place.value.view.merge;
	return asked === 'lines' || asked === 'files' || asked === 'modules' ? asked : 'functions';
};

/** `recursion`: the graph is too deep without that fold. */
export function foldWords(recursion: boolean): string {
	const unfold = place.value.view.unfold ?? '';
	const folds = unfold === 'all' ? [] : ['plumbing', 'trunk'];
	if (recursion && unfold !== 'recursion' && unfold !== 'all') folds.push('recursion');
	return folds.join(',') || 'none';
}

export function flameParams(recursion: boolean, width: number): Params {
	return {
		...conditions.value,
		metric: measure.value.flame,
		merge: merge(),
		fold: foldWords(recursion),
		cut: Math.max(400, Math.min(4000, width)),
		...(isDifference.value ? { show: place.value.view.show } : {}),
	};
}
