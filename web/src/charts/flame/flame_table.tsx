/* The graph as a table, for those who do not see the canvas: the widest nodes below one. */
import { Rows, type Field } from '../../components/rows';
import { formatChange, formatPercent } from '../../text/units';
import { labelOf, type Graph } from './graph_data';

const ROWS = 500;

interface Row {
	node: number;
	depth: number;
}

/* Depth first, the widest child first. */
function rowsBelow(graph: Graph, root: number): Row[] {
	const { parent, bytes } = graph.flame;
	const children = new Map<number, number[]>();
	parent.forEach((above, node) => {
		const list = children.get(above);
		if (list) list.push(node);
		else children.set(above, [node]);
	});
	const rows: Row[] = [];
	const visit = (node: number, depth: number) => {
		if (rows.length >= ROWS) return;
		rows.push({ node, depth });
		for (const child of (children.get(node) ?? []).sort((a, b) => bytes[b]! - bytes[a]!)) visit(child, depth + 1);
	};
	visit(root, 0);
	return rows;
}

/* Behind the name stand of a difference both sides and the change, else amount, share and own. */
function fieldsOf(graph: Graph, root: number, format: (value: number) => string, onZoom: (node: number) => void): Field<Row>[] {
	const { flame, sides } = graph;
	const name: Field<Row> = {
		head: 'function', text: true,
		cell: ({ node }) => (
			<button type="button" class="plain mono" onClick={() => onZoom(node)}>
				{labelOf(graph, node)}
			</button>
		),
		attributes: ({ depth }) => ({ style: { paddingLeft: `${8 + Math.min(depth, 40) * 10}px` } }),
	};
	if (!sides)
		return [
			name,
			{ head: 'amount', cell: ({ node }) => format(flame.bytes[node]!) },
			{ head: 'share', cell: ({ node }) => formatPercent(flame.bytes[node]!, flame.bytes[root]!) },
			{ head: 'own', cell: ({ node }) => format(flame.own[node]!) },
		];
	return [
		name,
		{ head: 'before', cell: ({ node }) => format(sides.before[node]!) },
		{ head: 'after', cell: ({ node }) => format(sides.after[node]!) },
		{ head: 'change', cell: ({ node }) => formatChange(sides.after[node]! - sides.before[node]!, format) },
	];
}

export function FlameTable(props: { graph: Graph; root: number; format: (value: number) => string; onZoom: (node: number) => void }) {
	const { graph } = props;
	const rows = rowsBelow(graph, props.root);
	return (
		<div class="flame-table" tabIndex={0} role="region" aria-label="the graph as a table">
			<Rows fields={fieldsOf(graph, props.root, props.format, props.onZoom)} rows={rows} />
			{rows.length >= ROWS ? <p class="muted">The first {ROWS} rows: zoom for others.</p> : null}
		</div>
	);
}
