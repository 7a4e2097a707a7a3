/* Live bytes of both sides over their runs: before dashed and grey, after solid. */
import type { Series } from '../api/generated';
import { formatBytes, formatTime } from '../text/units';

const WIDTH = 1000;
const HEIGHT = 110;

export function TwoCurves({ before, after }: { before: Series; after: Series }) {
	const end = Math.max(before.end_ns, after.end_ns, 1);
	const most = Math.max(1, ...before.live_last, ...after.live_last);
	const path = (series: Series) =>
		series.at_ns
			.map((at, i) => `${i ? 'L' : 'M'}${((at / end) * WIDTH).toFixed(1)} ${(HEIGHT - (series.live_last[i]! / most) * (HEIGHT - 4)).toFixed(1)}`)
			.join('');
	return (
		<figure class="two-curves panel">
			<svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" height={HEIGHT} preserveAspectRatio="none" role="img" aria-label="live bytes over both runs">
				<path class="curve-after" d={path(after)} />
				<path class="curve-before" d={path(before)} />
			</svg>
			<figcaption class="bars-ends">
				<span>0</span>
				<span>
					┄ before, most {formatBytes(before.peak.bytes)} &nbsp; ─ after, most {formatBytes(after.peak.bytes)}
				</span>
				<span>{formatTime(end)}</span>
			</figcaption>
		</figure>
	);
}
