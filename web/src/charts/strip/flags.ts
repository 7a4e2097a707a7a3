/* Flags on the strip: which labels have room. */

export interface Flag {
	/** Nanoseconds since the start. */
	at: number;
	text: string;
}

export interface PlacedFlag extends Flag {
	/** 0..1 of the plot's width. */
	x: number;
	labelled: boolean;
}

const LETTER = 6.6;
const POLE = 10;

/** Flags within a span. Of labels that would lie on each other the rightmost ones are left out. */
export function placeFlags(flags: Flag[], start: number, end: number, width: number): PlacedFlag[] {
	let free = -Infinity;
	return flags
		.filter((flag) => flag.at >= start && flag.at <= end)
		.sort((a, b) => a.at - b.at)
		.map((flag) => {
			const x = end > start ? (flag.at - start) / (end - start) : 0;
			const left = x * width;
			const right = left + POLE + flag.text.length * LETTER;
			const labelled = left >= free && right <= width + 1;
			if (labelled) free = right + 4;
			return { ...flag, x, labelled };
		});
}

/** The nearest of the points within `reach`, else the time itself. All in nanoseconds. */
export function snap(time: number, points: number[], reach: number): number {
	let best = time;
	let least = reach;
	for (const point of points) {
		const distance = Math.abs(point - time);
		if (distance <= least) {
			least = distance;
			best = point;
		}
	}
	return best;
}
