/** What a form of features would write: values of fields that are filled in, and what is wrong with others. */
import { readValue, type FeatureSpec, type FeatureValue } from "./typedValues";

export interface ReadForm {
  values: Record<string, FeatureValue>;
  problems: Record<string, string>;
  isReady: boolean;
}

export function readForm(key: string[], features: FeatureSpec[], typed: Record<string, string>): ReadForm {
  const values: Record<string, FeatureValue> = {};
  const problems: Record<string, string> = {};
  for (const feature of features) {
    const text = typed[feature.name] ?? "";
    if (text.trim() === "") continue;
    const { value, problem } = readValue(feature, text);
    if (problem === null) values[feature.name] = value;
    else problems[feature.name] = problem;
  }
  const isKeyed = key.every((part) => part.trim() !== "");
  const isReady = isKeyed && Object.keys(values).length > 0 && Object.keys(problems).length === 0;
  return { values, problems, isReady };
}
