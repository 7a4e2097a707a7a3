/*
 * The pages that live blocks keep, over the run: for the strip above the address space. The server
 * counts them moment by moment, so some moments are asked for, all at once. At these it is exact.
 */
import { useEffect, useState } from 'preact/hooks';
import type { Pages, Series } from '../../api/generated';
import { fetchAnswer } from '../../api/answer';
import { target } from '../../api/client';
import { PAGE } from '../space/layout';
import { askedSteps, type KeptPages } from './strip_data';
import { liveTable } from '../../state/limits';
import { dataPath, facts, place, standingConditions, summary } from '../../state/state';

/** null on pages other than the address space, and of what the server cannot tell or has to tell every second. */
export function useKeptPages(series: Series | null): KeptPages | null {
	const [kept, setKept] = useState<KeptPages | null>(null);
	const wanted = series && place.value.page === 'space' && summary.value?.has_blocks && !facts.value?.writing && !liveTable.value ? series : null;
	const conditions = standingConditions.value;
	useEffect(() => {
		setKept(null);
		if (!wanted) return;
		let gone = false;
		const steps = askedSteps(wanted.at_ns.length);
		const at = steps.map((step) => wanted.at_ns[step]!).join(',');
		fetchAnswer<Pages>(target(dataPath('pages'), { ...conditions, at })).then(
			({ pages }) => {
				const values: KeptPages = wanted.at_ns.map(() => null);
				steps.forEach((step, i) => (values[step] = pages[i]! * PAGE));
				if (!gone) setKept(values);
			},
			() => {
				// Without an answer there is no curve.
			},
		);
		return () => {
			gone = true;
		};
	}, [wanted]);
	return wanted && kept;
}
