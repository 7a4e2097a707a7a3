/* A drag over cells of a chart: from the one where it began to the one where it is. */
import { useRef, useState } from 'preact/hooks';

export interface Selection {
	/** Columns and rows, both ends included. */
	left: number;
	right: number;
	low: number;
	high: number;
}

/** Where in a field of `columns` x `rows` cells a pointer is, the first row at the bottom. */
function cellAt(event: PointerEvent, columns: number, rows: number): { x: number; y: number } {
	const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
	const part = (at: number, from: number, size: number) => Math.max(0, Math.min(0.9999, size ? (at - from) / size : 0));
	return {
		x: Math.floor(part(event.clientX, box.left, box.width) * columns),
		y: rows - 1 - Math.floor(part(event.clientY, box.top, box.height) * rows),
	};
}

/** `onSelect` is called once, when the pointer is let go; a click selects one cell. */
export function useSelect(columns: number, rows: number, onSelect: (chosen: Selection) => void) {
	const begun = useRef<{ x: number; y: number } | null>(null);
	const [selection, setSelection] = useState<Selection | null>(null);
	const reach = (event: PointerEvent): Selection => {
		const { x, y } = cellAt(event, columns, rows);
		const from = begun.current ?? { x, y };
		return { left: Math.min(x, from.x), right: Math.max(x, from.x), low: Math.min(y, from.y), high: Math.max(y, from.y) };
	};
	return {
		selection,
		handlers: {
			onPointerDown: (event: PointerEvent) => {
				if (event.button !== 0) return;
				begun.current = cellAt(event, columns, rows);
				(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
				setSelection(reach(event));
			},
			onPointerMove: (event: PointerEvent) => begun.current && setSelection(reach(event)),
			onPointerUp: (event: PointerEvent) => {
				if (!begun.current) return;
				const chosen = reach(event);
				begun.current = null;
				setSelection(null);
				onSelect(chosen);
			},
			onPointerCancel: () => {
				begun.current = null;
				setSelection(null);
			},
		},
	};
}
