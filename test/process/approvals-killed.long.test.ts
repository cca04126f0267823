import { afterAll, expect, it } from "vitest";
import { killApprovals } from "./support/approvals-killed.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const seed = Number(process.env["STEWARD_TEST_SEED"] ?? Date.now() % 1_000_000);

it(`carries out what was approved at most once, and loses nothing, killed at each step, 200 times (STEWARD_TEST_SEED=${seed})`, {
  timeout: 1_800_000,
}, async () => {
  await expect(killApprovals(workspace, 200, seed)).resolves.toBeUndefined();
});
