/* The allocator's heaps as a table: where blocks live, how many, and how full the pages are. */
import type { Lane, Space } from '../api/generated';
import { PAGE } from '../charts/space/layout';
import { laneName } from '../charts/space/space_map';
import { Bytes, Count } from '../components/amount';
import { Rows, type Field } from '../components/rows';
import { formatPercent } from '../text/units';
import '../styles/space.css';

export const hex = (address: number): string => address.toString(16);

const FIELDS: Field<Lane>[] = [
	{ head: 'heap', text: true, cell: laneName },
	{ head: 'from', text: true, cell: ({ start }) => <code>{hex(start)}</code> },
	{ head: 'over', title: 'from the first block to the last one', cell: ({ start, end }) => <Bytes value={end - start} /> },
	{ head: 'blocks', cell: ({ blocks }) => <Count value={blocks} /> },
	{ head: 'bytes', cell: ({ used }) => <Bytes value={used} /> },
	{ head: 'pages', cell: ({ pages }) => <Count value={pages} /> },
	{ head: 'used', cell: ({ used, pages }) => formatPercent(used, pages * PAGE) },
	{ head: 'kept by few', cell: ({ sparse_pages: pages }) => <Count value={pages} /> },
];

export const LaneTable = ({ space }: { space: Space }) => <Rows class="fit lanes" fields={FIELDS} rows={space.lanes} />;
