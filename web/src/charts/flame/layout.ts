/*
 * Where the frames of a flame graph lie. Nodes come parents first; a node's width is its value, its
 * children lie below it side by side, then what it asked for itself, then what the server left out:
 *
 *	| all 100                                   |   depth 0
 *	| main 90                        | rest 10  |   depth 1
 *	| parse 60          | own 20 | rest 10      |   depth 2
 */

export interface Nodes {
	parent: ArrayLike<number>;
	value: ArrayLike<number>;
	own: ArrayLike<number>;
	rest: ArrayLike<number>;
}

/** Frames: node i is frame i; frame n + i is what node i asked for itself, 2n + i what was left out of it. */
export interface Layout {
	count: number;
	/** Of each frame 0 … 3n: left edge and width as parts of the root. Frames without width have no row. */
	left: Float64Array;
	width: Float64Array;
	/** Frames of each depth, from left to right. */
	rows: Int32Array[];
	depth: Int32Array;
}

export type Order = 'value' | 'given';

/* children[first[i] … first[i + 1]] are the children of node i. */
function childLists(parent: ArrayLike<number>): { first: Int32Array; children: Int32Array } {
	const count = parent.length;
	const first = new Int32Array(count + 2);
	for (let i = 1; i < count; i++) first[parent[i]! + 2]!++;
	for (let i = 2; i < first.length; i++) first[i]! += first[i - 1]!;
	const children = new Int32Array(Math.max(0, count - 1));
	for (let i = 1; i < count; i++) children[first[parent[i]! + 1]!++] = i;
	return { first, children };
}

/** `order` given: children stay in the order of their nodes. */
export function layOut(nodes: Nodes, order: Order = 'value'): Layout {
	const { parent, value, own, rest } = nodes;
	const count = parent.length;
	const { first, children } = childLists(parent);
	const left = new Float64Array(3 * count);
	const width = new Float64Array(3 * count);
	const depth = new Int32Array(count);
	const total = value[0] || 1;
	const rows: number[][] = count ? [[0]] : [];
	if (count) width[0] = 1;
	// Row by row, so that a row is from left to right without sorting it.
	for (let level = 0; level < rows.length; level++) {
		const below: number[] = [];
		for (const frame of rows[level]!) {
			if (frame >= count) continue;
			const mine = children.subarray(first[frame]!, first[frame + 1]!);
			if (order === 'value') mine.sort((a, b) => value[b]! - value[a]! || a - b);
			let at = left[frame]!;
			const put = (item: number, amount: number) => {
				left[item] = at;
				width[item] = amount / total;
				at += amount / total;
				below.push(item);
			};
			for (const child of mine) {
				depth[child] = level + 1;
				put(child, value[child]!);
			}
			if (own[frame]! > 0 && (mine.length || rest[frame]! > 0)) put(count + frame, own[frame]!);
			if (rest[frame]! > 0) put(2 * count + frame, rest[frame]!);
		}
		if (below.length) rows.push(below);
	}
	return { count, left, width, depth, rows: rows.map((row) => Int32Array.from(row)) };
}

/** The first frame of a row whose right edge is beyond x. */
export function firstBeyond(layout: Layout, row: Int32Array, x: number): number {
	let low = 0;
	let high = row.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		const frame = row[middle]!;
		if (layout.left[frame]! + layout.width[frame]! <= x) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** The frame at a depth and a part of the root's width, -1: none. */
export function frameAt(layout: Layout, depth: number, x: number): number {
	const row = layout.rows[depth];
	if (!row) return -1;
	const frame = row[firstBeyond(layout, row, x)];
	return frame !== undefined && layout.left[frame]! <= x ? frame : -1;
}

/** The node that a frame belongs to. */
export const nodeOf = (layout: Layout, frame: number): number => frame % layout.count;

/** From the root to the node. */
export function pathTo(parent: ArrayLike<number>, node: number): number[] {
	const path: number[] = [];
	for (let at = node; at >= 0; at = parent[at]!) path.push(at);
	return path.reverse();
}
