import { ApiError } from "#client/index.ts";

/** The error that the service answers a call with. */
export async function refusal(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("the call was not refused");
}
