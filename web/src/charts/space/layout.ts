/*
 * Where the cells of the address space lie: a lane per heap, its cells in rows, wrapped. Rows without any
 * block are left out where they are many, and named: nothing moves within what is shown.
 */
import type { Lane, Space } from '../../api/generated';

/** Bytes of a page, as the server counts them. */
export const PAGE = 4096;

/** Pixels of a cell, its gap included: the largest with which all rows are seen at once, else the smallest. */
const SIZES = [14, 11, 8, 5];
const SEEN = 480;
const LANE_GAP = 10;
const HEAD = 18;
/** So many empty rows become one line that says how much that is. */
const EMPTY_ROWS = 4;
const EMPTY_HEIGHT = 16;

export interface Row {
	y: number;
	/** The number of its first cell; of an empty stretch of its first one. */
	first: number;
	/** How many cells it has. */
	cells: number;
	/** An empty stretch, drawn as a line of words. */
	empty: boolean;
}

export interface PlacedLane {
	lane: Lane;
	/** Where its name is written. */
	y: number;
	rows: Row[];
}

export interface Placed {
	lanes: PlacedLane[];
	/** Pixels of a cell, its gap included. */
	size: number;
	/** Cells in a row. */
	columns: number;
	height: number;
}

/* Which rows have a block, in their order. */
function fullRows(lane: Lane, columns: number): number[] {
	const { first, count } = lane.cells;
	const rows: number[] = [];
	first.forEach((cell, i) => {
		const last = Math.floor((cell + count[i]! - 1) / columns);
		for (let row = Math.max(Math.floor(cell / columns), (rows[rows.length - 1] ?? -1) + 1); row <= last; row++) rows.push(row);
	});
	return rows;
}

function placeRows(lane: Lane, size: number, columns: number, cells: number, top: number): { rows: Row[]; bottom: number } {
	const rows: Row[] = [];
	let y = top;
	const put = (row: number) => {
		rows.push({ y, first: row * columns, cells: Math.min(columns, cells - row * columns), empty: false });
		y += size;
	};
	const putEmpty = (from: number, to: number) => {
		if (to - from < EMPTY_ROWS) {
			for (let row = from; row < to; row++) put(row);
			return;
		}
		rows.push({ y, first: from * columns, cells: Math.min(to * columns, cells) - from * columns, empty: true });
		y += EMPTY_HEIGHT;
	};
	let next = 0;
	for (const row of fullRows(lane, columns)) {
		putEmpty(next, row);
		put(row);
		next = row + 1;
	}
	putEmpty(next, Math.ceil(cells / columns));
	return { rows, bottom: y };
}

function placeWith(size: number, space: Space, width: number): Placed {
	const columns = Math.max(16, Math.floor(width / size));
	let y = 0;
	const lanes = space.lanes.map((lane): PlacedLane => {
		const cells = Math.max(1, Math.ceil((lane.end - lane.start) / space.cell));
		const { rows, bottom } = placeRows(lane, size, columns, cells, y + HEAD);
		const placed = { lane, y, rows };
		y = bottom + LANE_GAP;
		return placed;
	});
	return { lanes, size, columns, height: Math.max(0, y - LANE_GAP) };
}

/** `width`: pixels that cells have. */
export function placeLanes(space: Space, width: number): Placed {
	const placed = SIZES.map((size) => placeWith(size, space, width));
	return placed.find(({ height }) => height <= SEEN) ?? placed[placed.length - 1]!;
}

/** The entry of a lane's columns that has a cell; -1: nothing lies in it. */
export function entryOf(lane: Lane, cell: number): number {
	const { first, count } = lane.cells;
	let low = 0;
	let high = first.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (first[middle]! <= cell) low = middle + 1;
		else high = middle;
	}
	return low > 0 && cell < first[low - 1]! + count[low - 1]! ? low - 1 : -1;
}

export interface Chosen {
	lane: number;
	cell: number;
}

/** The cell at a point; null: none is there. */
export function cellAt(placed: Placed, x: number, y: number): Chosen | null {
	const lane = placed.lanes.findIndex((one, i) => y >= one.y && (i + 1 === placed.lanes.length || y < placed.lanes[i + 1]!.y));
	const row = placed.lanes[lane]?.rows.find((one) => !one.empty && y >= one.y && y < one.y + placed.size);
	const column = Math.floor(x / placed.size);
	return row && column >= 0 && column < row.cells ? { lane, cell: row.first + column } : null;
}

/** Where a cell is drawn; null: in an empty stretch. */
export function pointOf(placed: Placed, chosen: Chosen): { x: number; y: number } | null {
	const row = placed.lanes[chosen.lane]?.rows.find((one) => !one.empty && chosen.cell >= one.first && chosen.cell < one.first + one.cells);
	return row ? { x: (chosen.cell - row.first) * placed.size, y: row.y } : null;
}
