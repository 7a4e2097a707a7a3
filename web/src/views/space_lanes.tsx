/* The allocator's heaps as a table: where blocks live, how many, and how full the pages are. */
import type { Space } from '../api/generated';
import { PAGE } from '../charts/space/layout';
import { laneName } from '../charts/space/space_map';
import { Bytes, Count } from '../components/amount';
import { formatPercent } from '../text/units';
import '../styles/space.css';

export const hex = (address: number): string => address.toString(16);

export function LaneTable({ space }: { space: Space }) {
	return (
		<table class="rows fit lanes">
			<thead>
				<tr>
					<th class="text">heap</th>
					<th class="text">from</th>
					<th title="from the first block to the last one">over</th>
					<th>blocks</th>
					<th>bytes</th>
					<th>pages</th>
					<th>used</th>
					<th>kept by few</th>
				</tr>
			</thead>
			<tbody>
				{space.lanes.map((lane) => (
					<tr key={`${lane.kind} ${lane.start_s}`}>
						<td class="text">{laneName(lane)}</td>
						<td class="text">
							<code>{hex(lane.start)}</code>
						</td>
						<td>
							<Bytes value={lane.end - lane.start} />
						</td>
						<td>
							<Count value={lane.blocks} />
						</td>
						<td>
							<Bytes value={lane.used} />
						</td>
						<td>
							<Count value={lane.pages} />
						</td>
						<td>{formatPercent(lane.used, lane.pages * PAGE)}</td>
						<td>
							<Count value={lane.sparse_pages} />
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}
