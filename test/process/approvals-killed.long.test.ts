import { afterAll, expect, it } from "vitest";
import { seed } from "../support/seed.ts";
import { killApprovals } from "./support/approvals-killed.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

it(`carries out what was approved at most once, and loses nothing, killed at each step, 200 times`, {
  timeout: 1_800_000,
}, async () => {
  await expect(killApprovals(workspace, 200, seed)).resolves.toBeUndefined();
});
