/*
 * What stacks are called, by backtrace_id: rows of single allocations have only that. The sites with
 * most calls come in one answer, which covers nearly all rows; others are asked for when they are seen.
 */
import { useEffect, useState } from 'preact/hooks';
import type { SumsTable } from '../api/generated';
import { fetchAnswer, useAnswer } from '../api/answer';
import { target } from '../api/client';
import type { SiteNameProps } from '../components/site_name';
import { dataPath, place } from '../state/state';

const FIRST = 2000;

function take(sums: SumsTable, names: Map<number, SiteNameProps>): void {
	const keys = sums.keys[0]!;
	keys.backtrace_id?.forEach((id, key) => {
		names.set(id, { name: keys.name[key] ?? null, file: keys.file?.[key], line: keys.line?.[key], call: keys.call?.[key] });
	});
}

let of = '';
const names = new Map<number, SiteNameProps>();
const asked = new Set<number>();

/** undefined: not known yet; it is asked for, and the view drawn again. */
export function useSiteNames(): (id: number) => SiteNameProps | undefined {
	const [, redraw] = useState(0);
	const first = useAnswer<SumsTable>(dataPath('sums'), { by: 'site', sort_by: 'calls', count: FIRST });
	if (of !== place.value.recording) {
		of = place.value.recording;
		names.clear();
		asked.clear();
	}
	useEffect(() => {
		if (!first.data || first.stale) return;
		take(first.data, names);
		redraw((n) => n + 1);
	}, [first.data, first.stale]);
	return (id) => {
		const known = names.get(id);
		if (known || asked.has(id) || !first.data) return known;
		asked.add(id);
		void fetchAnswer<SumsTable>(target(dataPath('sums'), { by: 'site', backtraces: id, count: 1 })).then(
			(sums) => {
				take(sums, names);
				redraw((n) => n + 1);
			},
			() => {
				// The row shows the number of its stack.
			},
		);
		return undefined;
	};
}
