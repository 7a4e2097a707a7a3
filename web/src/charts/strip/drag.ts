/* Pointer moves on the strip, as changes of the brush. */
import type { Brush, BrushMode } from '../../state/brush';

/** What was taken hold of. */
export type Hold = 'new' | 'from' | 'to' | 'middle';

export interface Drag {
	hold: Hold;
	/** Where it began, in nanoseconds, and the brush then. */
	start: number;
	before: Brush | null;
	moved: boolean;
}

/** The range that a drag makes; `now` is snapped, `end` the length of the run. */
export function dragged(drag: Drag, now: number, end: number, mode: BrushMode): { from: number; to: number; mode: BrushMode } {
	const inside = (ns: number) => Math.max(0, Math.min(end, Math.round(ns)));
	const { before } = drag;
	if (drag.hold === 'new' || !before) {
		const [from, to] = [inside(drag.start), inside(now)].sort((a, b) => a - b) as [number, number];
		return { from, to, mode };
	}
	if (drag.hold === 'middle') {
		const shift = Math.max(-before.from, Math.min(end - before.to, Math.round(now - drag.start)));
		return { from: before.from + shift, to: before.to + shift, mode: before.mode };
	}
	const other = drag.hold === 'from' ? before.to : before.from;
	const [from, to] = [inside(now), other].sort((a, b) => a - b) as [number, number];
	return { from, to, mode: before.mode === 'moment' ? mode : before.mode };
}
