import type { RunStep } from "../../api/runs";

/** What a step says of itself besides its time, in words. */
export function stepNotes(step: RunStep): string[] {
  const notes = [`${step.rows} ${step.rows === 1 ? step.unit : `${step.unit}s`}`];
  if (step.skipped) notes.push(`skipped: ${step.skipped}`);
  if (step.error) notes.push(step.error);
  if (step.unique_keys != null) notes.push(`${step.unique_keys} keys`);
  if (step.cache_hits != null) notes.push(`${step.cache_hits} from the cache`);
  if (step.without_key) notes.push(`${step.without_key} without a key`);
  for (const [state, count] of Object.entries(step.stand_ins ?? {})) notes.push(`${count} ${state}`);
  if (step.pinned?.length) notes.push(`pinned: ${step.pinned.join(", ")}`);
  if (step.answered_by) notes.push(`answered by ${step.answered_by}`);
  if (step.batches) notes.push(`${step.batches} ${step.batches === 1 ? "batch" : "batches"}`);
  if (step.nans) notes.push(`${step.nans} NaN`);
  if (step.blank) notes.push(`${step.blank} blank`);
  return notes;
}
