import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { root } from "./project.ts";

const sources = "web/src";

/** What was made of an entry: its script, the scripts that it cannot begin without, and its style sheet. */
function outputOf({ outputs }: Metafile, entry: string) {
  const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === `${sources}/${entry}`);
  if (found === undefined) throw new Error(`cannot bundle the console: nothing was made of ${entry}`);
  const [path, { cssBundle, imports }] = found;
  const needed = imports.filter(({ kind }) => kind === "import-statement").map((each) => basename(each.path));
  return { script: basename(path), needed, style: cssBundle && basename(cssBundle) };
}

/** All addresses are relative, since a proxy may have put the service below a path of its own. */
function page(metafile: Metafile): string {
  const { script, needed, style } = outputOf(metafile, "main.tsx");
  const preloads = needed.map((name) => `<link rel="modulepreload" href="${name}">\n`).join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steward</title>
<link rel="icon" href="data:,">
<script src="${outputOf(metafile, "theme.ts").script}"></script>
<link rel="stylesheet" href="${style}">
${preloads}<script type="module" src="${script}"></script>
</head>
<body>
<div id="app"></div>
<noscript><p>This page needs JavaScript. Programs use the API with a key.</p></noscript>
</body>
</html>
`;
}

const brotli = (content: Buffer): Buffer =>
  brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });

/**
 * Writes the console to `outdir`, a new directory: the page, scripts and styles that are named after their content, and each of them
 * compressed beside itself.
 * @returns which module went into which output.
 */
export async function bundleConsole(outdir: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { app: `${sources}/main.tsx`, theme: `${sources}/theme.ts` },
    outdir,
    bundle: true,
    minify: true,
    format: "esm",
    splitting: true,
    platform: "browser",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    conditions: ["browser", "module"],
    charset: "utf8",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    define: { "process.env.NODE_ENV": '"production"' },
    // The package has them in a file of their own.
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  // Of our own sources types alone, which leave nothing behind: the table of operations is larger than all of the console.
  const foreign = Object.keys(metafile.inputs).filter((path) => !/^(web\/src|node_modules)\//.test(path));
  if (foreign.length > 0)
    throw new Error(`cannot bundle the console: it imports more than types of ${foreign.join(", ")}`);
  mkdirSync(outdir, { recursive: true });
  writeFileSync(join(outdir, "index.html"), page(metafile));
  for (const name of ["index.html", ...Object.keys(metafile.outputs).map((path) => basename(path))]) {
    const content = readFileSync(join(outdir, name));
    writeFileSync(join(outdir, `${name}.br`), brotli(content));
    writeFileSync(join(outdir, `${name}.gz`), gzipSync(content, { level: 9 }));
  }
  return metafile;
}
