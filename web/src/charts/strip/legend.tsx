/* What the bands' colours mean, from below as they lie. */
import { duration, go, place } from '../../state/state';
import { liveTable } from '../../state/limits';
import { formatTime } from '../../text/units';
import type { StripCurves } from './strip_data';

/* From which part of the run on a block was freed late; a tenth is the server's own. */
const LATE = [
	{ part: 0.01, text: '1 % of the run' },
	{ part: 0, text: '10 %' },
	{ part: 0.5, text: '50 %' },
];

export function LateChoice() {
	const chosen = place.value.view.late ?? '';
	const value = (part: number) => (part ? `${Math.round(part * duration.value)}ns` : '');
	const known = LATE.some(({ part }) => value(part) === chosen);
	return (
		<label class="late">
			late is from{' '}
			<select value={chosen} onChange={(event) => go({ view: { late: event.currentTarget.value } })}>
				{known ? null : <option value={chosen}>{chosen}</option>}
				{LATE.map(({ part, text }) => (
					<option key={part} value={value(part)}>
						{text}
					</option>
				))}
			</select>
		</label>
	);
}

export function Legend({ curves, late }: { curves: StripCurves; late: number }) {
	const words = (name: string) => {
		if (name === 'freed late') return `freed after ${formatTime(late)} or more`;
		return name;
	};
	const untouched = curves.untouched.includes(1);
	return (
		<ul class="legend">
			{(liveTable.value ? curves.bands.filter(({ values }) => values.some((value) => value > 0)) : curves.bands).map((band) => (
				<li key={band.name}>
					<span class="key" style={{ background: `var(--${band.colour})` }} />
					{words(band.name)}
				</li>
			))}
			{curves.line ? (
				<li>
					<span class="line-key" />
					{curves.line.name}
				</li>
			) : null}
			{untouched ? (
				<li>
					<span class="key hatched" />
					asked for, not touched
				</li>
			) : null}
		</ul>
	);
}
