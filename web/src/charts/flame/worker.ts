/* Lays a flame graph out, away from the page's own thread. */
import { layOut, type Nodes, type Order } from './layout';

export interface Job {
	number: number;
	nodes: Nodes;
	order: Order;
}

addEventListener('message', (event: MessageEvent<Job>) => {
	const { number, nodes, order } = event.data;
	const layout = layOut(nodes, order);
	const moved = [layout.left.buffer, layout.width.buffer, layout.depth.buffer, ...layout.rows.map((row) => row.buffer)];
	(postMessage as (message: unknown, transfer: unknown[]) => void)({ number, layout }, moved);
});
