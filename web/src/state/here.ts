/* The brush of the page as one file. */
import { fileFacts } from '../api/file';
import type { Brush } from './brush';

/** The brush as far as it is here: a file has moments alone, and the nearest one stands for another. */
export function brushHere(brush: Brush | null): Brush | null {
	const moments = fileFacts()?.moments;
	if (!moments || !brush) return brush;
	if (brush.mode !== 'moment') return null;
	const nearest = moments.reduce((best, { at_ns: at }) => (Math.abs(at - brush.to) < Math.abs(best - brush.to) ? at : best), moments[0]?.at_ns ?? NaN);
	return Number.isNaN(nearest) ? null : { mode: 'moment', from: nearest, to: nearest };
}
