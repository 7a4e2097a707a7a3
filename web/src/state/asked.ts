/* The question behind the view, as command, request and link. */
import { target } from '../api/client';
import { commandOf } from '../text/command';
import { merged } from './limits';
import { measure } from './measure';
import { conditions, dataPath, facts, place, plainConditions, recordings, spaceParams } from './state';

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

/** The main request of each page. */
export function request(): string {
	const { page, view } = place.value;
	const all = conditions.value;
	const { column, flame } = measure.value;
	switch (page) {
		case 'overview':
			return target(dataPath('findings'));
		case 'flame':
		case 'tree':
			return target(dataPath('flame'), { ...all, metric: flame, direction: view.direction, merge: view.merge });
		case 'sites':
		case 'compare':
			return target(dataPath('sums'), { ...all, by: view.by, sort_by: view.sort ?? column, count: 100 });
		case 'allocations':
			return target(dataPath('allocations'), { ...plainConditions.value, sort_by: view.sort, count: 200 });
		case 'leaks':
			return target(dataPath('sums'), { ...plainConditions.value, sort_by: 'leaked', count: 100 });
		case 'churn':
			return target(dataPath('sums'), { ...plainConditions.value, by: 'function', sort_by: 'temporary', count: 20 });
		case 'distributions':
			return target(dataPath('sums'), { ...plainConditions.value, by: 'size,lifetime', sort_by: 'key' });
		case 'space':
			return target(dataPath('space'), { ...spaceParams.value, cell: view.cell, by: 'function' });
		case 'threads':
			return target(dataPath('sums'), { ...plainConditions.value, by: 'thread,free_thread' });
		case 'source':
			return target(dataPath('sums'), { ...plainConditions.value, by: 'line', inclusive: 'true', sort_by: column });
		case 'mappings':
			return target(dataPath('maps'), { sort_by: view.sort, count: 200 });
		case 'pools':
		case 'errors':
		case 'mallopts':
			return target(dataPath(page));
		case 'processes':
			return target('/list');
	}
}

export const curl = (): string => `curl '${location.origin}${request().replace(/'/g, '%27')}'`;

/* What exports can weigh stacks by. */
const EXPORTED = ['peak', 'leaked', 'total', 'calls', 'temporary'];
/* Those that always have all of it. */
const WHOLE = ['pprof', 'heaptrack'];

/** Where a file of what is shown can be had. */
export function exportTarget(format: string): string {
	const { flame } = measure.value;
	const metric = !WHOLE.includes(format) && EXPORTED.includes(flame) ? { metric: flame } : {};
	return target(dataPath(`export/${format}`), { ...plainConditions.value, ...metric });
}
