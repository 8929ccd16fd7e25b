import type { NodeKind } from "../../../../api/configs";

/** What each kind of step is called. */
export const KIND_WORDS: Record<NodeKind, string> = {
  init: "request",
  feature: "features",
  model: "model",
  compute: "compute",
};
