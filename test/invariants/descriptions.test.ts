import { describe, expect, it } from "vitest";
import { tags } from "#contract/operation.ts";
import { isRecord } from "#kernel/values.ts";
import { openapiDocument } from "#transports/http/openapi.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
}
interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly tags: readonly string[];
}

const document = openapiDocument("1.2.3") as {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
};
const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const isSentence = (text = ""): boolean => /^[A-Z`].*\.$/.test(text);

/** Members that say what they are by their name, in all schemas. */
const plainNames = new Set(
  [
    "success message error code details name description hostname version architecture unit units user uid gid home",
    "pid signal threads processes port protocol address family path paths size_bytes used_bytes total_bytes read_bytes",
    "written_bytes inodes_used duration_ms total architecture current_version new_version is_security model tty",
    "operation_id snapshot_id check_id id key_id method os cpu memory disk host kernel running type event data",
    "requires_reboot packages services users logs plugins connectors alerts silences traces events links mounts swaps",
    "results what reason who why files mount timer socket kind change action status pass warn fail skip unknown",
    "check preview slice options prefix_length location origin suite component relation maintainer homepage summary",
    "hidden_processes routes_total resolvers processes_total active_state rules listens guard progress restarted",
    "system text mode before after ignores_failure is_active is_read_only control commands command left file",
    "wants requires conflicts requisite binds_to part_of upholds required_by requisite_of bound_by consists_of upheld_by",
    "wanted_by conflicted_by on_success on_failure on_success_of on_failure_of propagates_reload_to propagates_stop_to",
    "triggers last_run last next percent min max mean",
  ].flatMap((line) => line.split(" ")),
);

/** Members of a schema, and of those in it, without a description that they need. */
function unexplained(schema: unknown, where: string): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((each) => unexplained(each, where));
  if (!isRecord(schema)) return [];
  const { properties, ...rest } = schema;
  const members = Object.entries(isRecord(properties) ? properties : {});
  const isPlain = (name: string, member: unknown): boolean =>
    plainNames.has(name) || !isRecord(member) || "$ref" in member || "description" in member;
  return [
    ...members.flatMap(([name, member]) => (isPlain(name, member) ? [] : [`${where}.${name}`])),
    ...members.flatMap(([name, member]) => unexplained(member, `${where}.${name}`)),
    ...unexplained(Object.values(rest), where),
  ];
}

describe("the OpenAPI document", () => {
  it("describes every tag, and has none without an operation", () => {
    expect(document.tags.map(({ name }) => name)).toEqual(Object.keys(tags));
    expect(document.tags.filter(({ description }) => !isSentence(description))).toEqual([]);
    expect(new Set(described.flatMap((each) => each.tags))).toEqual(new Set(Object.keys(tags)));
  });

  it("describes each parameter, and each member that its name does not explain", () => {
    const parameters = described.flatMap(({ operationId, parameters: all = [] }) =>
      all.flatMap((each) => ("$ref" in each || isSentence(each.description) ? [] : [`${operationId}, ${each.name}`])),
    );
    const members = Object.entries(document.components.schemas).flatMap(([name, schema]) => unexplained(schema, name));
    expect([...parameters, ...members]).toEqual([]);
  });

  it("distinguishes the events of a chat by a discriminator", () => {
    expect(document.components.schemas["ChatEvent"]).toMatchObject({ discriminator: { propertyName: "event" } });
  });
});
