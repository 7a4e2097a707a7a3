/*
 * Which part of a tall field a canvas covers. A graph may be hundreds of rows deep: a canvas as high as it
 * costs megabytes and is painted anew in each frame of a zoom, so it covers what is seen and a margin, and
 * moves when scrolling comes near its edge.
 */
import { useEffect, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

/** Pixels from the field's upper edge. */
export interface Cover {
	top: number;
	bottom: number;
}

const MARGIN = 320;

/** What a canvas should cover, seen from `seen.top` to `seen.bottom` of a field; `before` as long as it suffices. */
export function coverOf(seen: Cover, height: number, before: Cover | null): Cover {
	const clamped = (y: number) => Math.max(0, Math.min(height, Math.round(y)));
	const top = clamped(seen.top);
	const bottom = clamped(seen.bottom);
	if (before && before.bottom <= height && before.top <= top && before.bottom >= bottom && before.bottom > before.top) return before;
	return { top: clamped(top - MARGIN), bottom: clamped(bottom + MARGIN) };
}

/** `height`: of the field, pixels. */
export function useCover(field: RefObject<HTMLElement | null>, height: number): Cover {
	const [cover, setCover] = useState<Cover>(() => coverOf({ top: 0, bottom: innerHeight }, height, null));
	useEffect(() => {
		const look = () => {
			const box = field.current?.getBoundingClientRect();
			if (box) setCover((before) => coverOf({ top: -box.top, bottom: innerHeight - box.top }, height, before));
		};
		look();
		// Captured: whatever scrolls, the page or a part of it.
		addEventListener('scroll', look, { capture: true, passive: true });
		addEventListener('resize', look);
		return () => {
			removeEventListener('scroll', look, { capture: true });
			removeEventListener('resize', look);
		};
	}, [height]);
	return cover;
}
