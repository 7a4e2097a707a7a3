/* How the program tuned its allocator: calls of mallopt, in their order. */
import type { Mallopt } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { dataPath } from '../state/state';
import { formatCount, formatExact } from '../text/units';

const named = ({ param, raw_param: raw }: Mallopt): string => param ?? String(raw);

/* The innermost frame: who called mallopt. */
function Caller({ call }: { call: Mallopt }) {
	const frame = call.backtrace[call.backtrace.length - 1];
	return <SiteName name={frame?.function ?? null} file={frame?.source} line={frame?.line} />;
}

function sentence(calls: Mallopt[]): string {
	if (!calls.length) return 'The program did not call mallopt.';
	const last = calls[calls.length - 1]!;
	return `${formatCount(calls.length)} call${calls.length === 1 ? '' : 's'} of mallopt; the last set ${named(last)} to ${formatExact(last.value)}.`;
}

export function Mallopts() {
	const answer = useAnswer<Mallopt[]>(dataPath('mallopts'));
	useSeen(answer.data);
	return (
		<Shown answer={answer} height={200}>
			{(calls) => (
				<>
					<h1>{sentence(calls)}</h1>
					<div class="scroll-x" tabIndex={0} role="region" aria-label="calls of mallopt">
						<table class="rows fit">
							<thead>
								<tr>
									<th class="text">parameter</th>
									<th>value</th>
									<th>taken</th>
									<th>thread</th>
									<th class="text">called by</th>
								</tr>
							</thead>
							<tbody>
								{calls.map((call, i) => (
									<tr key={i}>
										<td class="text">
											<code>{named(call)}</code>
										</td>
										<td>{formatExact(call.value)}</td>
										<td>{call.result ? 'yes' : 'no'}</td>
										<td>{call.thread ?? ''}</td>
										<td class="text">
											<Caller call={call} />
										</td>
									</tr>
								))}
							</tbody>
						</table>
					</div>
				</>
			)}
		</Shown>
	);
}
