/* The question behind the view, as command, request and link. */
import { type Params, target } from '../api/client';
import { EXPORTS } from '../api/generated';
import { commandOf } from '../text/command';
import { merged } from './limits';
import { measure } from './measure';
import { conditions, dataPath, facts, isDifference, place, plainConditions, recordings, spaceParams } from './state';

export function command(): string {
	const { page, view } = place.value;
	const before = conditions.value['b.id'];
	const other = recordings.value?.find((recording) => recording.id === before);
	return commandOf({
		page,
		file: facts.value?.path ?? 'RECORDING',
		merged: merged.value,
		before: before === undefined ? undefined : (other?.executable ?? before),
		conditions: conditions.value,
		column: measure.value.column,
		by: view.by,
	});
}

/** The main request of each page: its path, below the recording's unless it begins with '/', and what it asks. */
function question(): [path: string, params?: Params] {
	const { page, view } = place.value;
	const all = conditions.value;
	const { column, flame } = measure.value;
	switch (page) {
		case 'overview':
			return ['findings'];
		case 'flame':
		case 'tree':
			return ['flame', {
				...all, metric: flame, direction: view.direction === 'callers' ? 'callers' : undefined, merge: view.merge, focus: view.focus,
				show: isDifference.value ? view.show : undefined,
			}];
		case 'compare':
			return ['sums', { ...all, by: view.by ?? 'function', sort_by: column, count: 200 }];
		case 'sites':
			return isDifference.value
				? ['sums', { ...all, by: view.by, sort_by: column, count: 200 }]
				: ['sums', { ...all, by: view.by, sort_by: view.sort ?? column, order: view.order, count: 100 }];
		case 'allocations':
			return ['allocations', { ...plainConditions.value, sort_by: view.sort, order: view.order, count: 200 }];
		case 'leaks':
			return ['sums', { ...plainConditions.value, by: 'function', sort_by: 'leaked', count: 100 }];
		case 'churn':
			return ['sums', { ...plainConditions.value, by: 'function', sort_by: 'temporary', count: 20 }];
		case 'distributions':
			return ['sums', { ...plainConditions.value, by: 'size,lifetime', sort_by: 'key' }];
		case 'space':
			return ['space', { ...spaceParams.value, cell: view.cell, by: 'function' }];
		case 'threads':
			return ['sums', { ...plainConditions.value, by: 'thread,free_thread' }];
		case 'source':
			return ['sums', { ...plainConditions.value, by: 'line', inclusive: 'true', sort_by: column }];
		case 'mappings':
			return ['maps', { sort_by: view.sort, order: view.order, count: 200 }];
		case 'pools':
		case 'errors':
		case 'mallopts':
			return [page];
		case 'processes':
			return ['/list'];
	}
}

export function request(): string {
	const [path, params] = question();
	return target(path.startsWith('/') ? path : dataPath(path), params);
}

export const curl = (): string => `curl '${location.origin}${request().replace(/'/g, '%27')}'`;

/* Answers that are tables, and how many rows of each the server writes at once; undefined: all. */
const TABLES: Record<string, number | undefined> = { sums: 100_000, allocations: undefined, maps: undefined };

/** Where the rows that are shown can be had as CSV, with those of further pages; null: the page shows no rows of a table. */
export function rowsTarget(): string | null {
	const [path, params] = question();
	return path in TABLES ? target(dataPath(`export/${path}.csv`), { ...params, count: TABLES[path] }) : null;
}

/** Where the sites of what is shown can be had as CSV. */
export const sitesTarget = (): string =>
	target(dataPath('export/sums.csv'), { ...conditions.value, sort_by: measure.value.column, count: TABLES.sums });

/* What files of stacks can weigh them by. */
const EXPORTED = ['peak', 'leaked', 'total', 'calls', 'temporary'];
/* Whether a file has all of it, whatever is shown. */
const isWhole = (format: string): boolean => EXPORTS.some(({ name, ofMetric }) => name === format && !ofMetric);
/* Pages of something else than allocations. */
const OTHERS = ['mappings', 'mallopts', 'pools', 'errors', 'processes'];

/* What stacks are to weigh: some pages show one metric, whatever the switch says. */
function weight(): string {
	const { page } = place.value;
	return page === 'leaks' ? 'leaked' : page === 'churn' ? 'temporary' : measure.value.flame;
}

/** Where a file of the stacks of what is shown can be had. */
export function exportTarget(format: string): string {
	const flame = weight();
	const metric = !isWhole(format) && EXPORTED.includes(flame) ? { metric: flame } : {};
	const both = format === 'svg' && isDifference.value;
	return target(dataPath(`export/${format}`), { ...(both ? { ...conditions.value, show: place.value.view.show } : plainConditions.value), ...metric });
}

/** In what such a file differs from what is shown; '' if it does not. */
export function exportDiffers(format: string): string {
	const { page, view } = place.value;
	const turned = [view.direction ?? 'callees', view.merge ?? 'functions', view.root, view.focus].join() !== 'callees,functions,,';
	const words = [];
	if (OTHERS.includes(page)) words.push('the allocations');
	if (isDifference.value && format !== 'svg') words.push('after alone');
	if (!isWhole(format) && !EXPORTED.includes(weight())) words.push('by bytes at the peak');
	if (!isWhole(format) && turned && (page === 'flame' || page === 'tree')) words.push('all functions and what they called');
	return words.join(', ');
}
