import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["node_modules", "src/api/schema.d.ts", "test-results", "playwright-report"] },
  ...ts.configs.recommended,
  hooks.configs.flat["recommended-latest"],
  { rules: { "@typescript-eslint/no-explicit-any": "error", "no-console": "error" } },
  { files: ["scripts/**"], rules: { "no-console": "off" } },
);
