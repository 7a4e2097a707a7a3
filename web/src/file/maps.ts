/* A page of /maps in the page as one file, out of the mappings that lie in it. */
import type { Map as Mapping, Maps } from '../api/generated';
import type { Question } from './question';

/* Mappings are numbered in the order of the calls that made them. */
const VALUES: Record<string, (map: Mapping) => number> = {
	timestamp: (map) => map.id, address: (map) => map.address, size: (map) => map.size, peak_rss: (map) => map.peak_rss,
};

export function mapsOf(all: Maps, { sort_by: by = 'timestamp', order, count, skip }: Question['params']): Maps {
	const value = VALUES[by] ?? VALUES.timestamp!;
	const descends = (order ?? (by === 'size' || by === 'peak_rss' ? 'dsc' : 'asc')) === 'dsc';
	const maps = [...all.maps].sort((a, b) => (value(a) - value(b) || a.id - b.id) * (descends ? -1 : 1));
	const first = Number(skip ?? 0);
	return { maps: maps.slice(first, count === undefined ? undefined : first + Number(count)), total_count: maps.length };
}
