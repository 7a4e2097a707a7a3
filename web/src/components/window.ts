/* Which rows of a long table are seen. Browsers end at some 33 M pixels of height, so a longer table's
 * scroll bar stands for row numbers. */

export const HEIGHT_MAX = 8_000_000;

/** The height of what scrolls. */
export const scrollHeight = (count: number, row: number): number => Math.min(count * row, HEIGHT_MAX);

/** The first row seen, and by how many pixels it begins above the edge. */
export function firstRow(scrollTop: number, view: number, count: number, row: number): { first: number; above: number } {
	const height = scrollHeight(count, row);
	if (height === count * row) return { first: Math.floor(scrollTop / row), above: scrollTop % row };
	const part = Math.min(1, scrollTop / Math.max(1, height - view));
	const last = Math.max(0, count - Math.floor(view / row));
	return { first: Math.min(last, Math.floor(part * last)), above: 0 };
}

/** The scroll position at which a row is seen first. */
export function scrollTo(row: number, view: number, count: number, height: number): number {
	const all = scrollHeight(count, height);
	if (all === count * height) return row * height;
	const last = Math.max(1, count - Math.floor(view / height));
	return (Math.min(row, last) / last) * (all - view);
}
