/*
 * The pages that live blocks keep, over the run: for the strip above the address space. The server
 * counts them moment by moment, so some moments are asked for, one after the other, and the curve
 * grows while the answers come. At these moments it is exact.
 */
import { useEffect, useState } from 'preact/hooks';
import type { Series, Space } from '../../api/generated';
import { fetchAnswer } from '../../api/answer';
import { target, type Params } from '../../api/client';
import { PAGE } from '../space/layout';
import { askedSteps, type KeptPages } from './strip_data';
import { liveTable } from '../../state/limits';
import { dataPath, facts, place, standingConditions, summary } from '../../state/state';

/* No cells, and nobody's share: only how many pages there are. */
const question = (at: number, conditions: Params): string =>
	target(dataPath('space'), { ...conditions, at: `${at}ns`, start: 0, end: 1, cell: '2M', top: 0 });

/** null on pages other than the address space, and of what the server cannot tell or has to tell every second. */
export function useKeptPages(series: Series | null): KeptPages | null {
	const [kept, setKept] = useState<KeptPages | null>(null);
	const wanted = series && place.value.page === 'space' && summary.value?.has_blocks && !facts.value?.writing && !liveTable.value ? series : null;
	const conditions = standingConditions.value;
	useEffect(() => {
		setKept(null);
		if (!wanted) return;
		let gone = false;
		void (async () => {
			const values: KeptPages = wanted.at_ns.map(() => null);
			for (const step of askedSteps(values.length)) {
				const space = await fetchAnswer<Space>(question(wanted.at_ns[step]!, conditions)).catch(() => null);
				if (gone || !space) return; // without an answer the curve ends here
				values[step] = space.pages * PAGE;
				setKept([...values]);
			}
		})();
		return () => {
			gone = true;
		};
	}, [wanted]);
	return wanted && kept;
}
