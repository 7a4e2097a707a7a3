/* What a site is called: its own code in bold, where that is, and in grey what it called. */
import { shortName } from '../text/names';

export interface SiteNameProps {
	name: string | null;
	file?: string | null | undefined;
	line?: number | null | undefined;
	call?: string | null | undefined;
}

/** The last part of a path; of a Python package's own file with the package's folder. */
export const baseName = (path: string): string => /([^/]+\/__init__\.py|[^/]*)$/.exec(path)![0];

/** A source file without folders. `module`: of a script its file, with those folders that tell it from others. */
export const fileName = (file: string, module: string | null | undefined): string => (module && file.endsWith(`/${module}`) ? module : baseName(file));

/** What files of a list are called: their last parts, and as many folders as tell them from each other. */
export function tellApart(paths: string[]): Map<string, string> {
	const named = new Map(paths.map((path) => [path, baseName(path)]));
	for (let longer = true; longer; ) {
		const owners = new Map<string, string[]>();
		for (const [path, name] of named) owners.set(name, [...(owners.get(name) ?? []), path]);
		longer = false;
		for (const alike of owners.values())
			for (const path of alike.length > 1 ? alike : []) {
				const name = path.slice(path.lastIndexOf('/', path.length - named.get(path)!.length - 2) + 1);
				longer ||= name !== named.get(path);
				named.set(path, name);
			}
	}
	return named;
}

/* The server names a function's module behind it: "load [users/models.py]". */
const moduleOf = (name: string | null): string | undefined => / \[([^\]]+)\]$/.exec(name ?? '')?.[1];

export function siteText({ name, file, line, call }: SiteNameProps): string {
	const at = file ? ` ${file}${line ? `:${line}` : ''}` : '';
	return `${name ?? '[unknown]'}${at}${call ? ` · ${call}` : ''}`;
}

export function SiteName(props: SiteNameProps) {
	const { name, file, line, call } = props;
	return (
		<span class="site-name" title={siteText(props)}>
			<b class="mono">{shortName(name ?? '[unknown]')}</b>
			{file ? <span class="muted"> {fileName(file, moduleOf(name)) + (line ? `:${line}` : '')}</span> : null}
			{call && call !== name ? <span class="muted"> · {shortName(call)}</span> : null}
		</span>
	);
}
