/* Places of the page as one file: what of a place lies in it. */
import { fileFacts } from '../api/file';
import type { Brush } from './brush';
import type { Place } from './place';
import { nameOf } from '../text/names';

/* A file has moments alone, and the nearest one stands for another. */
function brushHere(brush: Brush | null): Brush | null {
	const moments = fileFacts()!.moments;
	if (!brush || !moments.length || brush.mode !== 'moment') return null;
	const nearest = moments.reduce((best, { at_ns: at }) => (Math.abs(at - brush.to) < Math.abs(best - brush.to) ? at : best), moments[0]!.at_ns);
	return { mode: 'moment', from: nearest, to: nearest };
}

/* What conditions choose, as a row of Sites: there it is in full. */
function rowOf({ allocated_by: pattern, thread }: Record<string, string>): Record<string, string> | null {
	const name = pattern === undefined ? null : nameOf(pattern);
	if (name !== null) return { by: 'function', sel: name };
	return thread === undefined ? null : { by: 'thread', sel: thread };
}

/**
 * The place that a link or a command leads to. A file has no answers with conditions: where only these
 * would change, their row of Sites is shown.
 */
export function placeHere(next: Place, from: Place): Place {
	if (!fileFacts()) return next;
	const row = next.page === from.page ? rowOf(next.conditions) : null;
	return { ...next, brush: brushHere(next.brush), conditions: {}, ...(row ? { page: 'sites', view: row } : {}) };
}

/** The place that an address names: its conditions stay, so that the page says what it lacks. */
export const addressHere = (place: Place): Place => (fileFacts() ? { ...place, brush: brushHere(place.brush) } : place);

/** The moment of the file that stands for this one, in words; null: it is one, or this is no file. */
export function movedTo(ns: number): { at_ns: number; name: string } | null {
	const here = fileFacts() ? brushHere({ mode: 'moment', from: ns, to: ns }) : null;
	return here && here.to !== ns ? (fileFacts()!.moments.find(({ at_ns: at }) => at === here.to) ?? null) : null;
}
