import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["build", "dist", "src/openapi.ts", "test/readme", "tools", "*.js"] },
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // A template with a number says what it means.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["test/**"],
    // The runner awaits every test itself.
    rules: {
      "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: ["test", "it", "describe"] }],
    },
  },
);
