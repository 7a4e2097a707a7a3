/*
 * A place: everything that decides what the page shows. It is the address behind `#`, so a link
 * opens exactly this view, and Back leads to the place before.
 *
 *	/#/flame?r=last&range=moment:2892663252ns&metric=blocks&function_regex=^json_
 *	    page  recording   brush                  view          conditions
 */
import { CONDITIONS } from '../api/generated';
import { formatBrush, parseBrush, type Brush } from './brush';

export const PAGES = [
	'overview', 'flame', 'tree', 'sites', 'allocations', 'source', 'leaks', 'churn', 'distributions', 'space', 'mappings', 'threads', 'processes',
	'pools', 'errors', 'mallopts', 'compare',
] as const;
export type Page = (typeof PAGES)[number];

export const METRICS = ['bytes', 'blocks', 'calls', 'temporary', 'slack', 'leaked'] as const;
export type Metric = (typeof METRICS)[number];

export interface Place {
	page: Page;
	/** A recording's id, or "last". */
	recording: string;
	brush: Brush | null;
	metric: Metric;
	/** Conditions by name, without those of the brush. Names with `b.` are of the side before. */
	conditions: Record<string, string>;
	/** What single views keep: VIEW_KEYS. */
	view: Record<string, string>;
	/** Words of the address that this version does not know. */
	unknown: string[];
}

/** Settings of single views that are part of the address. */
export const VIEW_KEYS = [
	'sort', 'order', 'by', 'root', 'node', 'focus', 'direction', 'merge', 'colour', 'sel', 'zoom', 'unfold', 'flames', 'find', 'frames',
	'show', 'late', 'tab', 'scale', 'calls', 'row', 'cell',
] as const;

export const HOME: Place = {
	page: 'overview', recording: 'last', brush: null, metric: 'bytes', conditions: {}, view: {}, unknown: [],
};

const NAMES = new Set(CONDITIONS.map((condition) => condition.name));

const isCondition = (key: string) => NAMES.has(key.startsWith('b.') ? key.slice(2) : key) || key === 'b.id';

/** A condition alive_at alone is a moment of the brush, if it is a time. */
function takeMoment(place: Place): void {
	const found = /^(\d+)ns$/.exec(place.conditions.alive_at ?? '');
	if (place.brush || !found || 'b.alive_at' in place.conditions) return;
	const ns = Number(found[1]);
	place.brush = { mode: 'moment', from: ns, to: ns };
	delete place.conditions.alive_at;
}

export function parsePlace(hash: string): Place {
	const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s);
	const place: Place = { ...HOME, conditions: {}, view: {}, unknown: [] };
	if ((PAGES as readonly string[]).includes(path)) place.page = path as Page;
	else if (path) place.unknown.push(path);
	for (const [key, value] of new URLSearchParams(query)) {
		if (key === 'r' && value) place.recording = value;
		else if (key === 'range' && parseBrush(value)) place.brush = parseBrush(value);
		else if (key === 'metric' && (METRICS as readonly string[]).includes(value)) place.metric = value as Metric;
		else if (isCondition(key)) place.conditions[key] = value;
		else if ((VIEW_KEYS as readonly string[]).includes(key)) place.view[key] = value;
		else place.unknown.push(`${key}=${value}`);
	}
	takeMoment(place);
	return place;
}

export function formatPlace(place: Place): string {
	const query = new URLSearchParams();
	if (place.recording !== 'last') query.set('r', place.recording);
	if (place.brush) query.set('range', formatBrush(place.brush));
	if (place.metric !== 'bytes') query.set('metric', place.metric);
	for (const [key, value] of Object.entries(place.conditions)) query.set(key, value);
	for (const [key, value] of Object.entries(place.view)) if (value !== '') query.set(key, value);
	const text = query.toString().replace(/%3A/g, ':').replace(/%2C/g, ',');
	return `#/${place.page}${text ? `?${text}` : ''}`;
}
