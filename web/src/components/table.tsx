/*
 * A table of any number of rows of one height. Only rows that are seen are in the document; one that
 * is not here yet is a grey bar of its height. Sorting is the server's.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useViewKeys } from '../frame/keys';
import { firstRow, scrollHeight, scrollTo } from './window';
import '../styles/table.css';

export interface Column<R> {
	name: string;
	head: string;
	title?: string;
	/** As CSS grid takes it, the least number of pixels first: "88px", FLUID. */
	width: string;
	/** Text instead of a number: on the left. */
	text?: boolean;
	/** What sort_by calls it; undefined: it does not sort. */
	sort?: string | undefined;
	cell: (row: R) => ComponentChildren;
}

/** Of a table that is a tree: how deep a row is, from 1, and whether it is open; null: nothing is below it. */
export interface Level {
	level: number;
	open: boolean | null;
}

export interface TableProps<R> {
	label: string;
	columns: Column<R>[];
	count: number;
	/** null: not here yet. */
	row: (index: number) => R | null;
	onRange?: (from: number, to: number) => void;
	/** By which column it is sorted, if it can be. */
	sort?: string;
	order?: 'asc' | 'dsc';
	onSort?: (column: string) => void;
	/** Opens a row: Enter, or a click. */
	onOpen?: (index: number) => void;
	/** The row that is open; -1: none. */
	opened?: number;
	/** Scrolls so that this row is the first, whenever it changes. */
	jump?: number | undefined;
	dim?: boolean;
	level?: (row: R) => Level;
	/** A key pressed on the current row; true: it was taken. */
	onKey?: (key: string, index: number) => boolean;
}

const AHEAD = 40;

/** The width of a column that takes what is left. */
export const FLUID = 'minmax(280px, 1fr)';
/* On a phone, so that the first number is seen beside it. */
const FLUID_NARROW = 'minmax(190px, 1fr)';
const NARROW = 720;

/** A phone: there is room for less. */
export const isNarrow = (): boolean => innerWidth < NARROW;

const rowHeight = () => (matchMedia('(pointer: coarse)').matches ? 28 : 24);

export function Table<R>(props: TableProps<R>) {
	const { columns, count, opened = -1, onOpen } = props;
	const scroller = useRef<HTMLDivElement>(null);
	const [view, setView] = useState({ top: 0, height: 400 });
	const [current, setCurrent] = useState(0);
	const height = rowHeight();
	const { first, above } = firstRow(view.top, view.height, count, height);
	const shown = Math.min(count - first, Math.ceil(view.height / height) + 2);

	useLayoutEffect(() => {
		const element = scroller.current!;
		const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
		const observer = new ResizeObserver(measure);
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	useEffect(() => props.onRange?.(first - AHEAD, Math.min(count - 1, first + shown + AHEAD)));
	const reveal = (index: number) => {
		const element = scroller.current!;
		const last = first + Math.floor(view.height / height) - 2;
		if (index >= first && index <= last) return;
		const target = index < first ? index : index - Math.floor(view.height / height) + 2;
		element.scrollTop = scrollTo(Math.max(0, target), view.height, count, height);
	};
	useEffect(() => {
		if (props.jump === undefined) return;
		scroller.current!.scrollTop = scrollTo(props.jump, view.height, count, height);
		setCurrent(props.jump);
	}, [props.jump]);

	const go = (index: number) => {
		const next = Math.max(0, Math.min(count - 1, index));
		setCurrent(next);
		reveal(next);
		if (opened >= 0) onOpen?.(next);
	};
	useViewKeys((event) => {
		const page = Math.floor(view.height / height) - 1;
		const steps: Record<string, number> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
		const step = steps[event.key];
		const inside = scroller.current?.contains(event.target as Node) || event.target === document.body || (event.target as HTMLElement).id === 'view';
		if (!inside) return false;
		if (props.onKey?.(event.key, current)) return true;
		if (step !== undefined) go(current + step);
		else if (event.key === 'Enter' && (event.target as HTMLElement).closest('a, button') === null) onOpen?.(current);
		else return false;
		return true;
	});

	// The same for all rows, whatever is in them: where there is less room, the table scrolls sideways.
	const widths = columns.map(({ width }) => (width === FLUID && isNarrow() ? FLUID_NARROW : width));
	const least = widths.reduce((sum, width) => sum + Number(/\d+/.exec(width)![0]), 0);
	const template = { gridTemplateColumns: widths.join(' '), minWidth: `${least}px` };
	const rows = [];
	for (let i = first; i < first + shown; i++) rows.push(i);
	return (
		<div
			class={`grid${props.dim ? ' dim' : ''}`}
			ref={scroller}
			role={props.level ? 'treegrid' : 'grid'}
			aria-label={props.label}
			aria-rowcount={count + 1}
			aria-colcount={columns.length}
			aria-activedescendant={`row-${current}`}
			tabIndex={0}
			onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
		>
			<div class="grid-head" role="row" aria-rowindex={1} style={template}>
				{columns.map((column) => (
					<Head key={column.name} column={column} {...props} />
				))}
			</div>
			<div class="grid-space" role="presentation" style={{ height: `${scrollHeight(count, height)}px` }}>
				<div class="grid-rows" role="presentation" style={{ transform: `translateY(${view.top - above}px)` }}>
					{rows.map((index) => {
						const row = props.row(index);
						const level = row === null ? undefined : props.level?.(row);
						return (
							<div
								key={index}
								id={`row-${index}`}
								role="row"
								aria-rowindex={index + 2}
								aria-selected={index === opened}
								aria-level={level?.level}
								aria-expanded={level?.open ?? undefined}
								class={`grid-row${index === current ? ' current' : ''}`}
								style={{ ...template, height: `${height}px` }}
								onClick={(event) => {
									setCurrent(index);
									if (!(event.target as HTMLElement).closest('a')) onOpen?.(index);
								}}
							>
								{columns.map((column) => (
									<div key={column.name} role="gridcell" class={column.text ? 'text' : ''}>
										{row === null ? <span class="not-here" /> : column.cell(row)}
									</div>
								))}
							</div>
						);
					})}
				</div>
			</div>
		</div>
	);
}

function Head<R>(props: { column: Column<R> } & Pick<TableProps<R>, 'sort' | 'order' | 'onSort'>) {
	const { column } = props;
	const sorted = column.sort !== undefined && column.sort === props.sort;
	const sign = sorted ? (props.order === 'asc' ? ' ▴' : ' ▾') : '';
	return (
		<div
			role="columnheader"
			class={column.text ? 'text' : ''}
			title={column.title}
			aria-sort={sorted ? (props.order === 'asc' ? 'ascending' : 'descending') : undefined}
		>
			{column.sort ? (
				<button type="button" class="plain" onClick={() => props.onSort?.(column.sort!)}>
					{column.head + sign}
				</button>
			) : (
				column.head
			)}
		</div>
	);
}
