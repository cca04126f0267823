import { isRecord } from "./values.ts";

const placeholder = /\{([a-z_]+)\}/g;

/**
 * Replaces placeholders (`{title}`) in the strings of a JSON value; names of members stay as they are. What is put in is not read
 * again, and stays within its string.
 */
export function fillTemplate(template: unknown, fields: Readonly<Record<string, string>>): unknown {
  if (typeof template === "string")
    return template.replaceAll(placeholder, (whole, name: string) =>
      Object.hasOwn(fields, name) ? (fields[name] ?? whole) : whole,
    );
  if (Array.isArray(template)) return template.map((each: unknown) => fillTemplate(each, fields));
  if (!isRecord(template)) return template;
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, fillTemplate(value, fields)]));
}

/** Names of the placeholders in a template, each once. */
export function templateNames(template: unknown): readonly string[] {
  const names = (value: unknown): readonly string[] => {
    if (typeof value === "string") return [...value.matchAll(placeholder)].map(([, name = ""]) => name);
    if (Array.isArray(value)) return value.flatMap(names);
    return isRecord(value) ? Object.values(value).flatMap(names) : [];
  };
  return [...new Set(names(template))];
}
