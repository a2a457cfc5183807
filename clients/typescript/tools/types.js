// Makes `src/openapi.ts` from the description of the API: every schema, and the parameters of every query.
//
//     node tools/types.js OPENAPI_JSON OUTPUT
import { readFileSync, writeFileSync } from "node:fs";
import openapi, { astToString } from "openapi-typescript";

const HEADER = "// Made by tools/types.js from the description of the API.\n\n";

const [input, output] = process.argv.slice(2);
const document = JSON.parse(readFileSync(input, "utf8"));
document.paths = Object.fromEntries(Object.entries(document.paths).flatMap(queries));
const types = await openapi(document, {
  // A field with a default may be left out.
  defaultNonNullable: false,
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
  rootTypesKeepCasing: true,
});
writeFileSync(output, HEADER + astToString(types));

/** Keeps the queries of a path, with their parameters alone. */
function queries([path, operations]) {
  const { operationId, parameters = [] } = operations.get ?? {};
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  if (inQuery.length === 0) return [];
  // Without responses, because those are schemas.
  const get = { operationId, parameters: inQuery, responses: {} };
  return [[path.replaceAll(/[{}]/g, ""), { get }]];
}
