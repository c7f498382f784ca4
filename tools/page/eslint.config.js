import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-restricted-globals": ["error", "event", "name", "find", "status", "parent", "top", "length", "print", "stop"],
      "no-param-reassign": "error",
      "no-use-before-define": ["error", { functions: false, variables: false }],
      // Hidden characters are what these pages must show: patterns name them.
      "no-control-regex": "off",
      "no-misleading-character-class": "off",
      "no-unused-vars": ["error", { ignoreRestSiblings: true, varsIgnorePattern: "^_" }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
];
