/** Whether a key is good for anything at a moment, and the order of one that is being made. */
import type { KeyOrder, Permission } from "./api";

export interface KeyTimes {
  expires_ms: number;
  revoked_ms: number;
}

export type KeyState = "live" | "expired" | "revoked";

/** The registry writes 0 for "never". */
export function keyState(key: KeyTimes, now_ms: number): KeyState {
  if (key.revoked_ms > 0) return "revoked";
  return key.expires_ms > 0 && key.expires_ms <= now_ms ? "expired" : "live";
}

export interface KeyForm {
  name: string;
  permissions: Permission[];
  models: string;
  days: string;
  perSecond: string;
}

export const emptyKeyForm: KeyForm = {
  name: "",
  permissions: ["inference"],
  models: "",
  days: "",
  perSecond: "",
};

const DAY_MS = 86_400_000;

/** What is wrong with the form, by field. Empty when the key can be made. */
export function keyFormProblems(form: KeyForm): Partial<Record<keyof KeyForm, string>> {
  const problems: Partial<Record<keyof KeyForm, string>> = {};
  if (!form.name.trim()) problems.name = "A key needs a name to be known by.";
  if (form.permissions.length === 0) problems.permissions = "Choose at least one.";
  if (!isPositiveOrEmpty(form.days)) problems.days = "A number of days, such as 30.";
  if (!isPositiveOrEmpty(form.perSecond)) problems.perSecond = "A number of requests, such as 50.";
  return problems;
}

export function keyOrder(form: KeyForm, now_ms: number): KeyOrder {
  const models = form.models.split(/[\s,]+/).filter(Boolean);
  return {
    name: form.name.trim(),
    permissions: form.permissions,
    models,
    ...(form.days.trim() && { expires_ms: Math.round(now_ms + Number(form.days) * DAY_MS) }),
    ...(form.perSecond.trim() && { rate: { per_second: Number(form.perSecond), burst: 0 } }),
  };
}

const isPositiveOrEmpty = (text: string) => text.trim() === "" || Number(text) > 0;
