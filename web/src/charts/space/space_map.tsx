/* The address space: a cell a page, by how full it is and what becomes of its blocks. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Lane, Space } from '../../api/generated';
import { theme } from '../../state/theme';
import { formatBytes, formatCount, formatPercent } from '../../text/units';
import { colour } from '../colour';
import { useCover } from '../flame/use_cover';
import { cellAt, entryOf, placeLanes, pointOf, type Chosen, type Placed, type Row } from './layout';

export type SpaceColour = 'fate' | 'age' | 'site';

export interface SpaceMapProps {
	space: Space;
	colourBy: SpaceColour;
	/** Stacks that have a colour of their own, the first one the first. */
	sites: (number | null)[];
	chosen: Chosen | null;
	onChoose: (chosen: Chosen) => void;
}

export const LANE_NAMES: Record<string, string> = { main_heap: 'main heap', arena: 'arena', mapped: 'mapped blocks', range: 'range' };

export const laneName = ({ kind, number }: Lane): string => `${LANE_NAMES[kind] ?? kind}${kind === 'main_heap' || kind === 'mapped' ? '' : ` ${number}`}`;

const PAGE = 4096;
const STEPS = 5;
const MODULES = 7;

const occupancy = (used: number, cell: number): number => Math.max(1, Math.min(STEPS, Math.ceil((STEPS * used) / cell)));

interface Ink {
	fill: string;
	alpha: number;
}

/* The colour of an entry: of its hue five steps. */
function inkOf(props: SpaceMapProps, lane: Lane, entry: number, colours: Record<string, string>): Ink {
	const { cells } = lane;
	const { space } = props;
	const full = occupancy(cells.used[entry]!, space.cell);
	if (props.colourBy === 'age') {
		const age = space.at_ns ? 1 - cells.oldest_ns[entry]! / space.at_ns : 0;
		return { fill: colours['freed-late']!, alpha: Math.max(1, Math.ceil(age * STEPS)) / STEPS };
	}
	if (props.colourBy === 'site') {
		const place = props.sites.indexOf(cells.backtrace_id[entry]!);
		return { fill: colours[place >= 0 && place < MODULES ? `module-${place + 1}` : 'module-8']!, alpha: 1 };
	}
	const never = cells.never_freed[entry]! * 2 > cells.used[entry]!;
	return { fill: colours[never ? 'never-freed' : 'freed-late']!, alpha: full / STEPS };
}

const COLOURS = ['never-freed', 'freed-late', 'line', 'text', 'muted', 'control', ...Array.from({ length: 8 }, (_, i) => `module-${i + 1}`)];

function draw(context: CanvasRenderingContext2D, props: SpaceMapProps, placed: Placed, top: number, bottom: number): void {
	const colours = Object.fromEntries(COLOURS.map((name) => [name, colour(name)]));
	context.font = '12px system-ui, sans-serif';
	context.textBaseline = 'top';
	for (const { lane, y, rows } of placed.lanes) {
		if (y > bottom || (rows.length && rows[rows.length - 1]!.y + placed.size < top)) continue;
		context.globalAlpha = 1;
		context.fillStyle = colours.text!;
		context.fillText(laneName(lane), 0, y);
		const name = context.measureText(laneName(lane)).width;
		context.fillStyle = colours.muted!;
		const used = lane.pages ? ` ${formatCount(lane.pages)} pages, ${formatPercent(lane.used, lane.pages * PAGE)} used` : '';
		context.fillText(` · ${formatBytes(lane.end - lane.start)}${used ? ` ·${used}` : ''}`, name, y);
		for (const row of rows) {
			if (row.y > bottom || row.y + 20 < top) continue;
			context.globalAlpha = 1;
			if (row.empty) {
				context.fillStyle = colours.muted!;
				context.fillText(`${formatBytes(row.cells * props.space.cell)} without a block`, 0, row.y + 1);
				continue;
			}
			drawRow(context, props, lane, row, placed.size, colours);
		}
	}
	const point = props.chosen ? pointOf(placed, props.chosen) : null;
	if (!point) return;
	context.globalAlpha = 1;
	context.strokeStyle = colours.text!;
	context.lineWidth = 2;
	context.strokeRect(point.x - 1, point.y - 1, placed.size + 1, placed.size + 1);
}

function drawRow(
	context: CanvasRenderingContext2D, props: SpaceMapProps, lane: Lane, { first, cells, y }: Row, size: number, colours: Record<string, string>,
): void {
	for (let i = 0; i < cells; i++) {
		const entry = entryOf(lane, first + i);
		if (entry < 0) {
			const middle = Math.floor((size - 3) / 2);
			context.globalAlpha = 1;
			context.fillStyle = colours.line!;
			context.fillRect(i * size + middle, y + middle, 2, 2);
			continue;
		}
		const ink = inkOf(props, lane, entry, colours);
		context.globalAlpha = ink.alpha;
		context.fillStyle = ink.fill;
		context.fillRect(i * size, y, size - 1, size - 1);
	}
}

/* Arrows move among the cells of a lane that have something in them. */
function moved(props: SpaceMapProps, key: string): Chosen | null {
	const { space, chosen } = props;
	const at = chosen ?? { lane: 0, cell: -1 };
	const lane = space.lanes[at.lane];
	if (!lane) return null;
	if (key === 'ArrowDown' || key === 'ArrowUp') {
		const next = space.lanes[at.lane + (key === 'ArrowDown' ? 1 : -1)];
		return next ? { lane: space.lanes.indexOf(next), cell: next.cells.first[0] ?? 0 } : null;
	}
	const { first, count } = lane.cells;
	if (key === 'ArrowRight') {
		const entry = entryOf(lane, at.cell);
		if (entry >= 0 && at.cell + 1 < first[entry]! + count[entry]!) return { lane: at.lane, cell: at.cell + 1 };
		const next = first.find((cell) => cell > at.cell);
		return next === undefined ? null : { lane: at.lane, cell: next };
	}
	for (let entry = first.length - 1; entry >= 0; entry--)
		if (first[entry]! < at.cell) return { lane: at.lane, cell: Math.min(at.cell - 1, first[entry]! + count[entry]! - 1) };
	return null;
}

export function SpaceMap(props: SpaceMapProps) {
	const host = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [width, setWidth] = useState(0);
	useLayoutEffect(() => {
		const element = host.current!;
		const measure = () => setWidth(element.clientWidth);
		measure();
		const observer = new ResizeObserver(measure);
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	const placed = useMemo(() => placeLanes(props.space, width), [props.space, width]);
	const cover = useCover(host, placed.height);
	useEffect(() => {
		const element = canvas.current;
		if (!element || !width) return;
		const scale = devicePixelRatio;
		element.width = Math.round(width * scale);
		element.height = Math.max(1, Math.round((cover.bottom - cover.top) * scale));
		const context = element.getContext('2d')!;
		context.setTransform(scale, 0, 0, scale, 0, -cover.top * scale);
		context.clearRect(0, cover.top, width, cover.bottom - cover.top);
		draw(context, props, placed, cover.top, cover.bottom);
	}, [placed, cover, width, props.colourBy, props.chosen, props.sites, theme.value]);
	const click = (event: MouseEvent) => {
		const box = host.current!.getBoundingClientRect();
		const scale = box.width ? host.current!.clientWidth / box.width : 1;
		const found = cellAt(placed, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
		if (found) props.onChoose(found);
	};
	return (
		<div
			ref={host}
			class="space-map"
			style={{ height: `${placed.height}px` }}
			role="application"
			aria-label="pages of the address space; arrow keys choose one"
			tabIndex={0}
			onClick={click}
			onKeyDown={(event) => {
				if (!event.key.startsWith('Arrow')) return;
				event.preventDefault();
				event.stopPropagation();
				const next = moved(props, event.key);
				if (next) props.onChoose(next);
			}}
		>
			<canvas ref={canvas} style={{ top: `${cover.top}px`, width: `${width}px`, height: `${cover.bottom - cover.top}px` }} aria-hidden="true" />
		</div>
	);
}
