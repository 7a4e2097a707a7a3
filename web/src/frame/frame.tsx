/* What stands around every page: the bar above, the rail, the time strip, the chips. */
import { PAGES } from '../state/place';
import { linkTo, place } from '../state/state';
import { VIEWS } from '../views/views';

export function Frame() {
	const View = VIEWS[place.value.page];
	return (
		<>
			<nav>
				{PAGES.map((page) => (
					<a key={page} href={linkTo({ page })} aria-current={page === place.value.page ? 'page' : undefined}>
						{page}
					</a>
				))}
			</nav>
			<main>
				<View />
			</main>
		</>
	);
}
