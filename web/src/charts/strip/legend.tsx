/* What the bands' colours mean, from below as they lie. */
import { formatTime } from '../../text/units';
import type { StripCurves } from './strip_data';

export function Legend({ curves, late }: { curves: StripCurves; late: number }) {
	const words = (name: string) => {
		if (name === 'freed late') return `freed after ${formatTime(late)} or more`;
		return name;
	};
	const untouched = curves.untouched.includes(1);
	return (
		<ul class="legend">
			{curves.bands.map((band) => (
				<li key={band.name}>
					<span class="key" style={{ background: `var(--${band.colour})` }} />
					{words(band.name)}
				</li>
			))}
			{curves.resident ? (
				<li>
					<span class="line-key" />
					resident
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
