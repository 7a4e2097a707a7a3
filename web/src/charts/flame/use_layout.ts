/* Layouts by the worker; small graphs are laid out at once, which is quicker than asking. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { underWay } from '../../api/answer';
import { layOut, type Layout, type Nodes, type Order } from './layout';
import type { Job } from './worker';

const AT_ONCE = 5000;

let worker: Worker | null = null;
let number = 0;
const waiting = new Map<number, (layout: Layout) => void>();

/* A page as one file has the worker's script in it. */
function workerAddress(): string {
	const script = document.getElementById('flame-worker');
	return script ? URL.createObjectURL(new Blob([script.textContent!], { type: 'text/javascript' })) : 'flame_worker.js';
}

function ask(nodes: Nodes, order: Order): Promise<Layout> {
	worker ??= new Worker(workerAddress());
	worker.onmessage = (event: MessageEvent<{ number: number; layout: Layout }>) => {
		waiting.get(event.data.number)?.(event.data.layout);
		waiting.delete(event.data.number);
		underWay.value--;
	};
	const job: Job = { number: ++number, nodes, order };
	worker.postMessage(job);
	underWay.value++;
	return new Promise((resolve) => waiting.set(job.number, resolve));
}

/** The layout of the nodes; null until it is there, which is at once if they are few. */
export function useLayout(nodes: Nodes, order: Order): Layout | null {
	const [made, setMade] = useState<{ layout: Layout; of: Nodes } | null>(null);
	const quick = useMemo(() => (nodes.parent.length <= AT_ONCE ? layOut(nodes, order) : null), [nodes, order]);
	useEffect(() => {
		if (quick) return;
		let gone = false;
		void ask(nodes, order).then((layout) => {
			if (!gone) setMade({ layout, of: nodes });
		});
		return () => {
			gone = true;
		};
	}, [nodes, order]);
	return quick ?? (made?.of === nodes ? made.layout : null);
}
