/* What a site is called: its own code in bold, where that is, and in grey what it called. */
import { shortName } from '../text/names';

export interface SiteNameProps {
	name: string | null;
	file?: string | null | undefined;
	line?: number | null | undefined;
	call?: string | null | undefined;
}

/** The last part of a path. */
export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

export function siteText({ name, file, line, call }: SiteNameProps): string {
	const at = file ? ` ${file}${line ? `:${line}` : ''}` : '';
	return `${name ?? '[unknown]'}${at}${call ? ` · ${call}` : ''}`;
}

export function SiteName(props: SiteNameProps) {
	const { name, file, line, call } = props;
	return (
		<span class="site-name" title={siteText(props)}>
			<b class="mono">{shortName(name ?? '[unknown]')}</b>
			{file ? <span class="muted"> {baseName(file) + (line ? `:${line}` : '')}</span> : null}
			{call && call !== name ? <span class="muted"> · {shortName(call)}</span> : null}
		</span>
	);
}
