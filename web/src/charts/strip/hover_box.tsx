/* What all bands have at the step under the pointer. */
import { formatBytes, formatTime } from '../../text/units';
import { nearestKnown, type StripCurves } from './strip_data';

export function HoverBox(props: { curves: StripCurves; step: number; x: number }) {
	const { curves, step } = props;
	const known = curves.kept ? nearestKnown(curves.kept, step) : -1;
	const sampled = curves.line?.known?.[step] !== 0;
	const rows = curves.bands.filter((band) => sampled || !band.sampled).map((band) => ({ band, value: band.values[step] ?? 0 })).reverse();
	return (
		<div class={`strip-box${props.x > 0.6 ? ' left' : ''}`} style={{ left: `${100 * props.x}%` }}>
			<table>
				<caption>
					{formatTime((curves.x[step] ?? 0) * 1e9)} · {formatBytes((curves.live[step] ?? 0) - slackOf(curves, step))} live
				</caption>
				<tbody>
					{curves.line && sampled ? (
						<tr>
							<td>
								<span class="line-key" />
								{curves.line.name}
							</td>
							<td>{curves.format(curves.line.values[step] ?? 0)}</td>
						</tr>
					) : null}
					{curves.kept && known >= 0 ? (
						<tr>
							<td>
								<span class="line-key dashed" />
								pages kept at {formatTime((curves.x[known] ?? 0) * 1e9)}
							</td>
							<td>{formatBytes(curves.kept[known] ?? 0)}</td>
						</tr>
					) : null}
					{rows.map(({ band, value }) => (
						<tr key={band.name}>
							<td>
								<span class="key" style={{ background: `var(--${band.colour})` }} />
								{band.name}
							</td>
							<td>{curves.format(value)}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

function slackOf(curves: StripCurves, step: number): number {
	return curves.bands.find((band) => band.colour === 'slack')?.values[step] ?? 0;
}
