// Writes `src/api/operations.ts`: the method, path and role of each operation of the interface, and whether it is closed to
// callers that are bound to data sources, so that the console offers only what the caller may do, and nothing that the server
// does not have yet.
import { readFileSync, writeFileSync } from "node:fs";

const description = JSON.parse(readFileSync(new URL("../../server/openapi.json", import.meta.url), "utf8"));
const methods = ["get", "post", "put", "patch", "delete"];
const lines = [];
for (const [path, item] of Object.entries(description.paths)) {
  for (const method of methods) {
    const operation = item[method];
    if (!operation || operation["x-not-yet"]) continue;
    const unbound = operation["x-unbound"] === true;
    lines.push(`  ${operation.operationId}: { method: "${method}", path: ${JSON.stringify(path)}, role: "${operation["x-role"] ?? "anyone"}", unbound: ${unbound} },`);
  }
}
const text = `// Made from openapi.json.\nexport const OPERATIONS = {\n${lines.join("\n")}\n} as const;\n`;
writeFileSync(new URL("../src/api/operations.ts", import.meta.url), text);
