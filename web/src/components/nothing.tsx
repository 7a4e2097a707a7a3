/* Nothing matches: which condition to leave out. */
import { conditionWords } from '../text/conditions';
import { go, place } from '../state/state';

export function Nothing() {
	const { conditions, brush } = place.value;
	const names = Object.keys(conditions);
	return (
		<div class="panel nothing">
			<p>Nothing matches here.</p>
			{names.map((name) => (
				<button
					key={name}
					type="button"
					onClick={() => {
						const { [name]: _, ...rest } = conditions;
						go({ conditions: rest });
					}}
				>
					without: {conditionWords(name, conditions[name]!)}
				</button>
			))}
			{brush ? (
				<button type="button" onClick={() => go({ brush: null })}>
					the whole run
				</button>
			) : null}
		</div>
	);
}
