/* Recordings by where they lie: directories, the runs in each, and the processes of a run. */
import type { Recording } from '../api/generated';

export interface Run {
	/** Its first process, and those that descend from it; with words only those that have them. */
	processes: { recording: Recording; level: number }[];
	root: Recording;
	/** How many processes it has, whatever the words are. */
	size: number;
}

export interface Folder {
	path: string;
	runs: Run[];
}

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

const startOf = ({ timestamp }: Recording): number => timestamp.secs + timestamp.fract_nsecs / 1e9;

/* A run from its root on; what was seen is left out: files may say that two processes started each other. */
function runOf(root: Recording, below: Map<string, Recording[]>, seen: Set<string>): Run {
	const processes: Run['processes'] = [];
	const ahead = [{ recording: root, level: 0 }];
	for (let next = ahead.pop(); next; next = ahead.pop()) {
		if (seen.has(next.recording.id)) continue;
		seen.add(next.recording.id);
		processes.push(next);
		for (const child of [...(below.get(next.recording.id) ?? [])].reverse()) ahead.push({ recording: child, level: next.level + 1 });
	}
	return { root, processes, size: processes.length };
}

/** Directories in the order of their names, the latest run first. `words`: what a recording's program, arguments, pid or file have all of. */
export function recordingTree(list: Recording[], words = ''): Folder[] {
	const ids = new Set(list.map(({ id }) => id));
	const below = new Map<string, Recording[]>();
	for (const recording of list) if (recording.parent) below.set(recording.parent, [...(below.get(recording.parent) ?? []), recording]);
	const seen = new Set<string>();
	const roots = list.filter(({ parent }) => !parent || !ids.has(parent));
	const runs = [...roots, ...list].map((root) => runOf(root, below, seen)).filter(({ size }) => size);
	const wanted = words.toLowerCase().split(/\s+/);
	const matches = ({ executable, cmdline, pid, path }: Recording) => {
		const text = `${executable} ${cmdline} ${pid} ${path}`.toLowerCase();
		return wanted.every((word) => text.includes(word));
	};
	const folders = new Map<string, Run[]>();
	for (const run of runs.sort((a, b) => startOf(b.root) - startOf(a.root))) {
		const processes = run.processes.filter(({ recording }) => matches(recording));
		const path = folderOf(run.root.path);
		if (processes.length) folders.set(path, [...(folders.get(path) ?? []), { ...run, processes }]);
	}
	return [...folders].map(([path, found]) => ({ path, runs: found })).sort((a, b) => (a.path < b.path ? -1 : 1));
}
