/* The graph as a table, for those who do not see the canvas: the widest nodes below one. */
import { formatChange, formatPercent } from '../../text/units';
import { labelOf, type Graph } from './graph_data';

const ROWS = 500;

/* Depth first, the widest child first. */
function rowsBelow(graph: Graph, root: number): { node: number; depth: number }[] {
	const { parent, bytes } = graph.flame;
	const children = new Map<number, number[]>();
	parent.forEach((above, node) => {
		const list = children.get(above);
		if (list) list.push(node);
		else children.set(above, [node]);
	});
	const rows: { node: number; depth: number }[] = [];
	const visit = (node: number, depth: number) => {
		if (rows.length >= ROWS) return;
		rows.push({ node, depth });
		for (const child of (children.get(node) ?? []).sort((a, b) => bytes[b]! - bytes[a]!)) visit(child, depth + 1);
	};
	visit(root, 0);
	return rows;
}

/* What stands behind the name: of a difference both sides and the change, else amount, share and own. */
function columnsOf(graph: Graph, root: number, format: (value: number) => string): { heads: string[]; cells: (node: number) => string[] } {
	const { flame, sides } = graph;
	if (sides)
		return {
			heads: ['before', 'after', 'change'],
			cells: (node) => [
				format(sides.before[node]!), format(sides.after[node]!), formatChange(sides.after[node]! - sides.before[node]!, format),
			],
		};
	return {
		heads: ['amount', 'share', 'own'],
		cells: (node) => [format(flame.bytes[node]!), formatPercent(flame.bytes[node]!, flame.bytes[root]!), format(flame.own[node]!)],
	};
}

export function FlameTable(props: { graph: Graph; root: number; format: (value: number) => string; onZoom: (node: number) => void }) {
	const { graph } = props;
	const rows = rowsBelow(graph, props.root);
	const { heads, cells } = columnsOf(graph, props.root, props.format);
	return (
		<div class="flame-table" tabIndex={0} role="region" aria-label="the graph as a table">
			<table class="rows">
				<thead>
					<tr>
						<th class="text">function</th>
						{heads.map((head) => (
							<th key={head}>{head}</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.map(({ node, depth }) => (
						<tr key={node}>
							<td class="text" style={{ paddingLeft: `${8 + Math.min(depth, 40) * 10}px` }}>
								<button type="button" class="plain mono" onClick={() => props.onZoom(node)}>
									{labelOf(graph, node)}
								</button>
							</td>
							{cells(node).map((cell, i) => (
								<td key={heads[i]}>{cell}</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
			{rows.length >= ROWS ? <p class="muted">The first {ROWS} rows: zoom for others.</p> : null}
		</div>
	);
}
