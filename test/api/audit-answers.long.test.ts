import { afterAll, describe, it } from "vitest";
import {
  bodies,
  credentials,
  extras,
  hosts,
  methods,
  names,
  paths,
  removeAudited,
  sendAll,
  startAudited,
  targets,
  usual,
  ways,
} from "./audited.ts";

afterAll(removeAudited);

describe("the audit log verifies, whatever one thing is wrong", () => {
  // Each operation in every way that one thing can be wrong with it.
  const variations: readonly (readonly [keyof typeof usual, string])[] = [
    ...names(paths).map((name) => ["path", name] as const),
    ...names(hosts).map((name) => ["host", name] as const),
    ...names(credentials).map((name) => ["credential", name] as const),
    ...names(extras).map((name) => ["extra", name] as const),
    ...names(methods).map((name) => ["method", name] as const),
    ...names(bodies).map((name) => ["body", name] as const),
  ];

  it.each(variations)("every operation with the %s: %s", async (part, name) => {
    const audited = await startAudited();
    for (const ending of ["gone", "reset"])
      await Promise.all(targets.map((target) => sendAll(audited, [{ target, ...usual, [part]: name }], { ending })));
    for (const way of ways)
      await Promise.all(
        targets.map((target) => sendAll(audited, [{ target, ...usual, [part]: name }], { ending: "answered", way })),
      );
    await audited.close();
  });
});
