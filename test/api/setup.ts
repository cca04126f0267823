import { afterAll, afterEach, expect } from "vitest";
import { takeFaults } from "./documented.ts";

/** No test passes that got an answer which the OpenAPI document does not describe, or a frame that is not in the AsyncAPI document. */
const expectDocumented = (): void => expect(takeFaults()).toEqual([]);

afterEach(expectDocumented);
// Also of what was asked outside of a test.
afterAll(expectDocumented);
