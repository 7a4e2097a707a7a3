/* The program's own pools: what they handed out, and what of it was never given back. */
import type { Pool, Pools as PoolsReport } from '../api/generated';
import { framesOf, ownOf } from '../api/reports';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { dataPath, linkTo, place } from '../state/state';
import { formatBytes, formatCount } from '../text/units';

const SITES = 8;

const nameOf = (pool: Pool): string => pool.name ?? pool.address;

function sentence({ pools, all }: PoolsReport): string {
	if (!pools.length) return 'The program has no pools of its own, or does not say so.';
	const most = pools.reduce((a, b) => (b.peak_bytes > a.peak_bytes ? b : a));
	const kept = all.leaked_bytes ? `; ${formatBytes(all.leaked_bytes)} was never given back` : '; all was given back';
	return `${formatCount(pools.length)} pool${pools.length === 1 ? '' : 's'} handed out ${formatBytes(all.peak_bytes)} at most: ${nameOf(most)} has ${formatBytes(most.peak_bytes)}${kept}.`;
}

function Sites({ report, pool }: { report: PoolsReport; pool: Pool }) {
	const more = pool.site_count - Math.min(SITES, pool.sites.length);
	return (
		<section aria-label={`pool ${nameOf(pool)}`}>
			<h2>
				{nameOf(pool)} <span class="muted">{formatBytes(pool.peak_bytes)}</span>
			</h2>
			<div class="scroll-x" tabIndex={0} role="region" aria-label={`who uses pool ${nameOf(pool)}`}>
				<table class="rows fit">
					<thead>
						<tr>
							<th>own peak</th>
							<th>never freed</th>
							<th>in all</th>
							<th>calls</th>
							<th class="text">allocated by</th>
						</tr>
					</thead>
					<tbody>
						{pool.sites.slice(0, SITES).map((site) => {
							const frame = ownOf(framesOf(report, site.stack));
							return (
								<tr key={site.stack}>
									<td>
										<Bytes value={site.own_peak_bytes} />
									</td>
									<td class={site.leaked_bytes ? 'never-freed' : ''}>
										<Bytes value={site.leaked_bytes} />
									</td>
									<td>
										<Bytes value={site.total_bytes} />
									</td>
									<td>
										<Count value={site.calls} />
									</td>
									<td class="text">
										<SiteName name={frame?.function ?? null} file={frame?.file} line={frame?.line} />
									</td>
								</tr>
							);
						})}
						{more > 0 ? (
							<tr class="muted">
								<td class="text" colSpan={5}>
									{formatCount(more)} more sites
								</td>
							</tr>
						) : null}
					</tbody>
				</table>
			</div>
		</section>
	);
}

export function Pools() {
	const answer = useAnswer<PoolsReport>(dataPath('pools'));
	useSeen(answer.data);
	return (
		<Shown answer={answer} height={300} class="stacked">
			{(report) => (
				<>
					<h1>{sentence(report)}</h1>
					<div class="scroll-x" tabIndex={0} role="region" aria-label="pools">
						<table class="rows">
							<thead>
								<tr>
									<th class="text">pool</th>
									<th>own peak</th>
									<th>share</th>
									<th>never freed</th>
									<th>calls</th>
									<th>frees</th>
									<th>resets</th>
									<th>freed by resets</th>
									<th>wrong frees</th>
								</tr>
							</thead>
							<tbody>
								{report.pools.map((pool) => (
									<tr key={pool.address + nameOf(pool)}>
										<td class="text">
											<a href={linkTo({ page: 'allocations', conditions: { ...place.value.conditions, pool: nameOf(pool) } })}>
												<b class="mono">{nameOf(pool)}</b>
											</a>
										</td>
										<td>
											<Bytes value={pool.peak_bytes} />
										</td>
										<td>
											<Share part={pool.peak_bytes} whole={report.pools.reduce((sum, one) => sum + one.peak_bytes, 0)} />
										</td>
										<td class={pool.leaked_bytes ? 'never-freed' : ''}>
											<Bytes value={pool.leaked_bytes} />
										</td>
										<td>
											<Count value={pool.calls} />
										</td>
										<td>
											<Count value={pool.frees} />
										</td>
										<td>
											<Count value={pool.resets} />
										</td>
										<td>
											<Count value={pool.implicit_frees} />
										</td>
										<td class={pool.wrong_frees ? 'never-freed' : ''}>
											<Count value={pool.wrong_frees} />
										</td>
									</tr>
								))}
							</tbody>
						</table>
					</div>
					{report.pools.map((pool) => (
						<Sites key={pool.address + nameOf(pool)} report={report} pool={pool} />
					))}
					<p class="muted">What pools hand out lies in memory that they asked for: it is counted here alone.</p>
				</>
			)}
		</Shown>
	);
}
