/* Who started whom: recordings of one run. */
import type { Recording } from '../api/generated';

/** The recordings of the same run: its root, and all that descend from it. */
export function familyOf(recordings: Recording[], id: string): Recording[] {
	const byId = new Map(recordings.map((recording) => [recording.id, recording]));
	let root = byId.get(id);
	const seen = new Set<string>();
	while (root?.parent && byId.has(root.parent) && !seen.has(root.id)) {
		seen.add(root.id);
		root = byId.get(root.parent);
	}
	if (!root) return [];
	const family = new Set([root.id]);
	for (let grown = true; grown; ) {
		grown = false;
		for (const { id: one, parent } of recordings)
			if (parent && family.has(parent) && !family.has(one)) {
				family.add(one);
				grown = true;
			}
	}
	return recordings.filter(({ id: one }) => family.has(one));
}
