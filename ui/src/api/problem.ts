/** What went wrong, as the gateway says it (problem+json), and as code throws it. */
import type { Schema } from "./types";

/** One thing that is wrong in a config, and where. */
export type Finding = Schema<"Finding">;
export type GoldenResult = Schema<"GoldenResult">;

export type ProblemDocument = Pick<Schema<"ProblemDocument">, "status" | "title"> & {
  detail?: string;
  request_id?: string;
  field?: string | null;
  hint?: string | null;
  problems?: Finding[] | null;
  /** Version that is current now, where an expected one was not. */
  current?: number;
  golden?: GoldenResult[];
};

export class ApiError extends Error {
  constructor(readonly problem: ProblemDocument) {
    super(problem.detail ?? problem.title);
    this.name = "ApiError";
  }

  get status(): number {
    return this.problem.status;
  }
}

export async function problemFrom(response: Response): Promise<ProblemDocument> {
  const status = response.status;
  try {
    const body = (await response.json()) as Partial<ProblemDocument>;
    if (typeof body.title === "string") return { ...body, status, title: body.title };
  } catch {
    // Not JSON: a proxy in between has answered, and its status is all there is to tell.
  }
  return { status, title: `The gateway answered ${status}`, detail: response.statusText || undefined };
}

/** Any failure as a problem, so that pages have one thing to show. */
export function asProblem(error: unknown): ProblemDocument {
  if (error instanceof ApiError) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  return { status: 0, title: "Something went wrong here", detail };
}
