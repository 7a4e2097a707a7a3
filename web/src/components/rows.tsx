/* A table whose rows are all in the document. Where there may be thousands of them: table.tsx. */
import type { ComponentChildren } from 'preact';
import { go, type Change } from '../state/state';

interface Attributes {
	class?: string;
	title?: string | undefined;
	style?: Record<string, string>;
}

/** What a table shows of each row. */
export interface Field<R> {
	/** If no field has a head the table has none. */
	head?: ComponentChildren;
	/** Of the head. */
	title?: string | undefined;
	/** Text instead of a number: on the left; or only its head is. */
	text?: boolean | 'head';
	/** Of the head and all cells. */
	class?: string;
	/** The cell names its row. */
	names?: boolean;
	cell: (row: R) => ComponentChildren;
	/** Of a cell. */
	attributes?: (row: R) => Attributes;
}

export interface RowsProps<R> {
	/** What is in the table: then it scrolls sideways where there is no room for it. */
	label?: string;
	class?: string;
	fields: Field<R>[];
	rows: readonly R[];
	/** What a row is of, if others may come before it while it is shown. */
	id?: (row: R) => string | number;
	/** Where a click on a row goes. */
	to?: (row: R) => Change;
	rowClass?: (row: R) => string;
	/** The row that is shown elsewhere on the page. */
	current?: (row: R) => boolean;
	/** A last row, of what is left out: from the left, the last of these takes all columns that are left. */
	rest?: ComponentChildren[] | null;
	/** Heads are only read aloud. */
	quiet?: boolean;
}

const classes = (...names: (string | false | undefined)[]): string | undefined => names.filter(Boolean).join(' ') || undefined;

export function Rows<R>(props: RowsProps<R>) {
	const { fields, to, rest } = props;
	const table = (
		<table class={classes('rows', props.class)}>
			{fields.some(({ head }) => head !== undefined) ? (
				<thead class={classes(props.quiet && 'visually-hidden')}>
					<tr>
						{fields.map(({ head, title, text, class: name }, i) => (
							<th key={i} class={classes(text && 'text', name)} title={title}>
								{head}
							</th>
						))}
					</tr>
				</thead>
			) : null}
			<tbody>
				{props.rows.map((row, i) => (
					<tr
						key={props.id?.(row) ?? i}
						class={classes(to && 'link-row', props.rowClass?.(row))}
						aria-current={props.current?.(row) ? 'true' : undefined}
						onClick={to && ((event) => (event.target as HTMLElement).closest('a') ?? go(to(row)))}
					>
						{fields.map(({ text, names, cell, class: name, attributes }, x) => {
							const more = attributes?.(row);
							const Cell = names ? 'th' : 'td';
							return (
								<Cell key={x} scope={names ? 'row' : undefined} {...more} class={classes(text === true && 'text', name, more?.class)}>
									{cell(row)}
								</Cell>
							);
						})}
					</tr>
				))}
				{rest ? (
					<tr class="muted">
						{rest.map((cell, x) => {
							const taken = x === rest.length - 1 ? fields.slice(x) : [fields[x]!];
							return (
								<td key={x} class={classes(taken.some(({ text }) => text === true) && 'text', fields[x]!.class)} colSpan={taken.length}>
									{cell}
								</td>
							);
						})}
					</tr>
				) : null}
			</tbody>
		</table>
	);
	if (props.label === undefined) return table;
	return (
		<div class="scroll-x" tabIndex={0} role="region" aria-label={props.label}>
			{table}
		</div>
	);
}
