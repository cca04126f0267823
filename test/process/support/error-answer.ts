import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "vitest";
import { ErrorBody } from "#contract/error-body.ts";
import type { ErrorCode } from "#contract/errors.ts";
import { errorStatus } from "#contract/errors.ts";
import { leak } from "./leak.ts";
import type { RawAnswer } from "./raw-socket.ts";

const isErrorBody = new Ajv2020({ strict: false }).compile<ErrorBody>(ErrorBody);

/**
 * Asserts that an answer is the error body of the contract, with the status and the headers that go with its code.
 * @returns its `error` member.
 */
export function expectError(answer: RawAnswer | undefined, code: ErrorCode): ErrorBody["error"] {
  expect(answer).toBeDefined();
  if (answer === undefined) throw new Error("no answer");
  const { status, headers, body } = answer;
  expect({ status, body }).toEqual({ status: errorStatus[code], body: expect.stringContaining(`"code":"${code}"`) });
  expect(headers["content-type"]).toMatch(/^application\/json\b/);
  expect(headers["x-request-id"]).toMatch(/^\S+$/);
  if (code === "UNAUTHORIZED") expect(headers["www-authenticate"]).toMatch(/^Bearer /);
  expect(body).not.toMatch(leak);
  const value: unknown = JSON.parse(body);
  if (!isErrorBody(value)) throw new Error(`not an error body: ${body}`);
  return value.error;
}
