/* The program's own pools: what they handed out, and what of it was never given back. */
import type { Pool, PoolSite, Pools as PoolsReport } from '../api/generated';
import { framesOf, ownOf } from '../api/reports';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Rows, type Field } from '../components/rows';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { dataPath, linkTo, place } from '../state/state';
import { formatBytes, formatCount } from '../text/units';

const SITES = 8;

const nameOf = (pool: Pool): string => pool.name ?? pool.address;

/** "2 pools handed out 3.00 MB at most: arena has 2.00 MB; all was given back." */
export function sentence({ pools, all }: PoolsReport): string {
	if (!pools.length) return 'The program has no pools of its own, or does not say so.';
	const most = pools.reduce((a, b) => (b.peak_bytes > a.peak_bytes ? b : a));
	const kept = all.leaked_bytes ? `; ${formatBytes(all.leaked_bytes)} was never given back` : '; all was given back';
	return `${formatCount(pools.length)} pool${pools.length === 1 ? '' : 's'} handed out ${formatBytes(all.peak_bytes)} at most: ${nameOf(most)} has ${formatBytes(most.peak_bytes)}${kept}.`;
}

const neverFreed = (count: number) => (count ? { class: 'never-freed' } : {});

function siteFields(report: PoolsReport): Field<PoolSite>[] {
	return [
		{ head: 'own peak', cell: (site) => <Bytes value={site.own_peak_bytes} /> },
		{ head: 'never freed', cell: (site) => <Bytes value={site.leaked_bytes} />, attributes: (site) => neverFreed(site.leaked_bytes) },
		{ head: 'in all', cell: (site) => <Bytes value={site.total_bytes} /> },
		{ head: 'calls', cell: (site) => <Count value={site.calls} /> },
		{
			head: 'allocated by', text: true,
			cell: ({ stack }) => {
				const frame = ownOf(framesOf(report, stack));
				return <SiteName name={frame?.function ?? null} file={frame?.file} line={frame?.line} />;
			},
		},
	];
}

function poolFields({ pools }: PoolsReport): Field<Pool>[] {
	const whole = pools.reduce((sum, one) => sum + one.peak_bytes, 0);
	return [
		{
			head: 'pool', text: true,
			cell: (pool) => (
				<a href={linkTo({ page: 'allocations', conditions: { ...place.value.conditions, pool: nameOf(pool) } })}>
					<b class="mono">{nameOf(pool)}</b>
				</a>
			),
		},
		{ head: 'own peak', cell: (pool) => <Bytes value={pool.peak_bytes} /> },
		{ head: 'share', cell: (pool) => <Share part={pool.peak_bytes} whole={whole} /> },
		{ head: 'never freed', cell: (pool) => <Bytes value={pool.leaked_bytes} />, attributes: (pool) => neverFreed(pool.leaked_bytes) },
		{ head: 'calls', cell: (pool) => <Count value={pool.calls} /> },
		{ head: 'frees', cell: (pool) => <Count value={pool.frees} /> },
		{ head: 'resets', cell: (pool) => <Count value={pool.resets} /> },
		{ head: 'freed by resets', cell: (pool) => <Count value={pool.implicit_frees} /> },
		{ head: 'wrong frees', cell: (pool) => <Count value={pool.wrong_frees} />, attributes: (pool) => neverFreed(pool.wrong_frees) },
	];
}

function Sites({ report, pool }: { report: PoolsReport; pool: Pool }) {
	const more = pool.site_count - Math.min(SITES, pool.sites.length);
	return (
		<section aria-label={`pool ${nameOf(pool)}`}>
			<h2>
				{nameOf(pool)} <span class="muted">{formatBytes(pool.peak_bytes)}</span>
			</h2>
			<Rows
				label={`who uses pool ${nameOf(pool)}`}
				class="fit"
				fields={siteFields(report)}
				rows={pool.sites.slice(0, SITES)}
				rest={more > 0 ? [`${formatCount(more)} more sites`] : null}
			/>
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
					<Rows label="pools" fields={poolFields(report)} rows={report.pools} />
					{report.pools.map((pool) => (
						<Sites key={pool.address + nameOf(pool)} report={report} pool={pool} />
					))}
					<p class="muted">What pools hand out lies in memory that they asked for: it is counted here alone.</p>
				</>
			)}
		</Shown>
	);
}
