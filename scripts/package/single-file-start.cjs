// Begins the program of the single executable, in its main thread and in its workers: modules and files of the program come
// from inside of it, as if they were in a folder that there is on no host.
"use strict";
const fs = require("node:fs");
const { createRequire, registerHooks } = require("node:module");
const { getAsset, getRawAsset } = require("node:sea");
const { fileURLToPath } = require("node:url");

const folder = "/proc/self/exe/";
const base = `file://${folder}`;
const begin = "steward:begin";

const names = JSON.parse(getAsset("names.json", "utf8"));
const inside = (path) => {
  if (typeof path !== "string" && !(path instanceof URL)) return undefined;
  const text = path instanceof URL ? (path.protocol === "file:" ? fileURLToPath(path) : "") : path;
  return text.startsWith(folder) ? text.slice(folder.length).replace(/\/$/, "") : undefined;
};
const missing = (path) =>
  Object.assign(new Error(`ENOENT: no such file in this program: ${path}`), { code: "ENOENT", path });

/** `node:fs` for the program: what it reads beside itself is inside. */
const files = {
  ...fs,
  readFileSync(path, options) {
    const name = inside(path);
    if (name === undefined) return fs.readFileSync(path, options);
    if (!names.includes(name)) throw missing(name);
    const bytes = Buffer.from(getRawAsset(name));
    const encoding = typeof options === "string" ? options : options?.encoding;
    return encoding ? bytes.toString(encoding) : bytes;
  },
  readdirSync(path, options) {
    const name = inside(path);
    if (name === undefined) return fs.readdirSync(path, options);
    const below = names.filter((each) => each.startsWith(`${name}/`)).map((each) => each.slice(name.length + 1));
    if (below.length === 0) throw missing(name);
    const all = new Set(
      below.flatMap((each) => each.split("/").map((_, at, parts) => parts.slice(0, at + 1).join("/"))),
    );
    const chosen = [...all]
      .filter((each) => options?.recursive || !each.includes("/"))
      .sort((a, b) => (a < b ? -1 : 1));
    if (!options?.withFileTypes) return chosen;
    return chosen.map((each) => ({
      name: each.slice(each.lastIndexOf("/") + 1),
      parentPath: `${folder}${name}/${each}`.replace(/\/[^/]*$/, ""),
      isFile: () => below.includes(each),
      isDirectory: () => !below.includes(each),
    }));
  },
};
// The bundle takes modules of Node this way.
const { getBuiltinModule } = process;
process.getBuiltinModule = (name) => (name === "node:fs" ? files : getBuiltinModule(name));

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = context.parentURL?.startsWith(base) === true;
    const module = (url, format = "module") => ({ url, format, shortCircuit: true });
    if (specifier === begin) return module(begin, "commonjs");
    if (specifier.startsWith(base)) return module(specifier);
    if (isOurs && specifier.startsWith(".")) return module(new URL(specifier, context.parentURL).href);
    return next(specifier, context);
  },
  load(url, context, next) {
    const loaded = (source, format = "module") => ({ source, format, shortCircuit: true });
    // Only a module that was loaded, and no script, has an import of its own.
    if (url === begin) return loaded("module.exports = (url) => import(url);", "commonjs");
    if (url.startsWith(base)) return loaded(Buffer.from(getRawAsset(url.slice(base.length))));
    return next(url, context);
  },
});

/** What a worker runs, whose first words are those of this file. */
const ofWorker = (name) => `globalThis.stewardEntry = ${JSON.stringify(name)};\n${getAsset("start.cjs", "utf8")}`;
globalThis.stewardWorker = (url) => ofWorker(url.pathname.slice(folder.length));

const { stewardEntry = "program/program.js" } = globalThis;
const [, , first, second] = process.argv;
if (stewardEntry === "program/program.js") {
  // The program starts itself for a task as Node would be started, with the name of its main module.
  if (first === `${folder}main.js`) process.argv.splice(2, 1);
}
if (stewardEntry === "program/program.js" && first === "-e") {
  // The one trial that it runs in a process of its own.
  const { runInThisContext } = require("node:vm");
  globalThis.require = createRequire(process.execPath);
  runInThisContext(second ?? "");
} else {
  createRequire(process.execPath)(begin)(base + stewardEntry).catch((error) => {
    console.error(error);
    process.exitCode = 2;
  });
}
