/* Draws the strip's bands by uPlot. Where the mouse is and what is chosen lies above it (strip.tsx). */
import uPlot from 'uplot';
import { colour } from '../colour';
import { formatTime, roundText } from '../../text/units';
import { stacked, type StripCurves } from './strip_data';

/** Room of the axes around the plot, in CSS pixels. strip.tsx lays its overlay by it. */
export const AXIS_LEFT = 64;
export const AXIS_BELOW = 22;
export const PLOT_RIGHT = 8;

/* Lines from lower left to upper right, as on a map: "asked for, not touched". */
function hatch(line: string, ground: string): CanvasPattern | null {
	const tile = document.createElement('canvas');
	const context = tile.getContext('2d');
	tile.width = tile.height = 6;
	if (!context) return null;
	context.fillStyle = ground;
	context.fillRect(0, 0, 6, 6);
	context.strokeStyle = line;
	context.lineWidth = 2;
	context.beginPath();
	for (const shift of [-6, 0, 6]) {
		context.moveTo(shift, 6);
		context.lineTo(shift + 6, 0);
	}
	context.stroke();
	return context.createPattern(tile, 'repeat');
}

/* Fills what of `live` is above the line: what is resident. */
function hatchUntouched(plot: uPlot, curves: StripCurves): void {
	const { line, live, untouched, x } = curves;
	const resident = line?.values;
	const pattern = resident && untouched.includes(1) && hatch(colour('freed-late'), colour('ground'));
	if (!pattern) return;
	const context = plot.ctx;
	const at = (value: number) => plot.valToPos(value, 'y', true);
	context.save();
	context.beginPath();
	context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
	context.clip();
	context.fillStyle = pattern;
	context.beginPath();
	for (let i = 1; i < x.length; i++) {
		if (!untouched[i] && !untouched[i - 1]) continue;
		const left = plot.valToPos(x[i - 1]!, 'x', true);
		const right = plot.valToPos(x[i]!, 'x', true);
		context.moveTo(left, at(Math.max(live[i - 1]!, resident[i - 1]!)));
		context.lineTo(right, at(Math.max(live[i]!, resident[i]!)));
		context.lineTo(right, at(resident[i]!));
		context.lineTo(left, at(resident[i - 1]!));
		context.closePath();
	}
	context.fill();
	context.restore();
}

const axis = (size: number, format: (value: number) => string): uPlot.Axis => ({
	size,
	stroke: colour('muted'),
	font: `12px ${colour('sans')}`,
	gap: 4,
	grid: { stroke: colour('line'), width: 1 },
	ticks: { show: false },
	values: (_, splits) => splits.map((value) => roundText(format(value))),
});

/* Room that half of a label takes, across and down: at the right or the upper edge one with less has no place. */
const LABEL_HALF = 22;
const LABEL_UP = 7;

const timeText = (seconds: number) => (seconds === 0 ? '0' : roundText(formatTime(seconds * 1e9)));

const timeAxis = (): uPlot.Axis => ({
	...axis(AXIS_BELOW, timeText),
	grid: { show: false },
	values: (plot, splits) =>
		splits.map((value) => (plot.width - AXIS_LEFT - plot.valToPos(value, 'x') < LABEL_HALF ? '' : timeText(value))),
});

const amountAxis = (format: (value: number) => string): uPlot.Axis => ({
	...axis(AXIS_LEFT, format),
	space: 28,
	values: (plot, splits) => splits.map((value) => (plot.valToPos(value, 'y') < LABEL_UP ? '' : roundText(format(value)))),
});

/* Bands are drawn from above, each down to 0, so that the one below lies on it. */
function bandSeries(curves: StripCurves): uPlot.Series[] {
	const series = curves.bands.map(
		(band): uPlot.Series => ({
			label: band.name,
			stroke: colour(band.colour),
			fill: colour(band.colour),
			width: 1,
			points: { show: false },
		}),
	);
	if (curves.line)
		series.push({ label: curves.line.name, stroke: colour('text'), width: 1.5, points: { show: false } });
	if (curves.kept)
		series.push({
			label: 'pages kept',
			stroke: colour('text'),
			width: 1.5,
			dash: [4, 3],
			spanGaps: true,
			points: { show: true, size: 5, fill: colour('ground'), stroke: colour('text') },
		});
	return series;
}

/** The columns that uPlot wants for bandSeries(). */
function columns(curves: StripCurves): uPlot.AlignedData {
	const { line } = curves;
	const known = (values: ArrayLike<number>) => (line?.known ? Array.from(values, (value, i) => (line.known![i] ? value : null)) : values);
	const edges = stacked(curves.bands).map((edge, i) => (curves.bands[i]!.sampled ? known(edge) : edge)).reverse();
	return [curves.x, ...edges, ...(line ? [known(line.values)] : []), ...(curves.kept ? [curves.kept] : [])] as uPlot.AlignedData;
}

export interface StripPlot {
	resize: (width: number, height: number) => void;
	destroy: () => void;
}

/** Draws into `host`. from, to: seconds of the left and the right edge. */
export function drawStrip(
	host: HTMLElement,
	curves: StripCurves,
	size: { width: number; height: number },
	span: { from: number; to: number },
): StripPlot {
	const series = bandSeries(curves);
	const bands = series.slice(0, curves.bands.length).reverse();
	const plot = new uPlot(
		{
			...size,
			padding: [0, PLOT_RIGHT, 0, 0],
			pxAlign: false,
			legend: { show: false },
			cursor: { show: false },
			select: { show: false, left: 0, top: 0, width: 0, height: 0 },
			scales: {
				x: { time: false, range: () => [span.from, Math.max(span.to, span.from + 1e-9)] },
				y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] },
			},
			axes: [
				timeAxis(),
				amountAxis(curves.format),
			],
			series: [{}, ...bands, ...series.slice(curves.bands.length)],
			hooks: { draw: [(self) => hatchUntouched(self, curves)] },
		},
		columns(curves),
		host,
	);
	return {
		resize: (width, height) => plot.setSize({ width, height }),
		destroy: () => plot.destroy(),
	};
}
