import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./project.ts";

/** What of JSON Schema the settings use. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly enum?: readonly (string | number)[];
  readonly const?: string | number | boolean;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface Setting {
  readonly path: string;
  readonly schema: Schema;
}

/** Text as roff has it: signs of its own are escaped, also at the start of a line. */
const roff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(/`([^`]*)`/g, "\\fB$1\\fR")
    .replaceAll(/^([.'])/gm, "\\&$1");

/** All settings, those inside of others by their whole path. */
function settingsOf(schema: Schema, path: string): readonly Setting[] {
  const arms = schema.anyOf ?? [];
  const inner = [schema, ...arms].flatMap(({ properties = {}, patternProperties = {}, items }) => [
    ...Object.entries(properties).flatMap(([name, each]) => settingsOf(each, path === "" ? name : `${path}.${name}`)),
    ...Object.values(patternProperties).flatMap((each) => settingsOf(each, `${path}.NAME`)),
    ...(items === undefined ? [] : settingsOf(items, `${path}[]`).filter((each) => each.path !== `${path}[]`)),
  ]);
  const isGroup = inner.length > 0 && schema.description === undefined;
  return [...(path === "" || isGroup ? [] : [{ path, schema }]), ...inner];
}

/** What may stand there, in words. */
function valuesOf({ type, enum: choices, const: only, anyOf = [], items }: Schema): string {
  if (choices !== undefined) return choices.join(", ");
  if (only !== undefined) return String(only);
  if (anyOf.length > 0) return anyOf.map(valuesOf).join("; or ");
  if (type === "array") return `list of ${items === undefined ? "values" : valuesOf(items)}`;
  if (type === "object") return "object";
  return type ?? "any";
}

function entry({ path, schema }: Setting): string {
  const notes = [
    roff(schema.description ?? ""),
    `Values: ${roff(valuesOf(schema))}.`,
    schema.default === undefined ? "" : `Default: ${roff(String(schema.default))}.`,
  ].filter((note) => note !== "");
  return [".TP", `.B ${roff(path)}`, ...notes].join("\n");
}

/** steward-config(5), from the JSON Schema of the settings. */
export function configPage(version: string, date: string): string {
  const schema = JSON.parse(readFileSync(join(root, "docs/reference/config.schema.json"), "utf8")) as Schema;
  return `.TH STEWARD\\-CONFIG 5 "${date}" "Steward ${version}" "Settings"
.SH NAME
steward\\-config \\- settings of Steward
.SH SYNOPSIS
/etc/steward/config.yaml
.SH DESCRIPTION
One YAML file.
Every setting has a default, and an unknown one is a fault.
.B steward config check
prints every fault with its line.
A service that runs takes changes of connectors and of the directories of plugins with
.BR "systemctl reload steward" ,
all others with a restart.
.P
Of the names below each dot is a level, NAME any name, and [] every item of a list.
.SH SETTINGS
${settingsOf(schema, "").map(entry).join("\n")}
.SH FILES
.TP
.I /etc/steward/config.yaml
Settings. It has to belong to root.
.TP
.I /etc/steward/plugins
Plugins of this host.
.TP
.I /etc/steward/runbooks
Runbooks of this host.
.TP
.I /var/lib/steward
State of the service.
.SH SEE ALSO
.BR steward (1),
.BR steward.service (8)
`;
}
