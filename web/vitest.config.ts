import { defineConfig } from 'vitest/config';

export default defineConfig({
	server: { fs: { allow: ['..'] } }, // examples that tests of the tool have, too
	esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
	test: { include: ['test/**/*.test.ts', 'test/**/*.test.tsx'] },
});
