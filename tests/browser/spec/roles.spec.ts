/** What each role does on the pages, and which of the actions it is offered: those that it may do, and no other. */
import { type Page } from "@playwright/test";
import { expect, id, ROLES, type Role, settled, signIn, test } from "./support";

const QUESTION = "Top 5 products by sales amount";

/** Per page, its actions with the least role that may do each. */
async function offers(page: Page): Promise<[path: string, actions: [name: string, least: Role][]][]> {
  const table = await id(page.request, "tables", "tableName", "dws_daily_sales");
  const workflow = await id(page.request, "workflows", "name", "daily sales");
  const source = await id(page.request, "datasources", "name", "lakeside");
  return [
    ["/tables", [["New table", "editor"]]],
    [`/tables/${table}`, [["Edit: Description", "editor"], ["Add a field", "editor"], ["More actions", "editor"]]],
    ["/bin", [["Restore", "editor"], ["Delete for good", "admin"]]],
    ["/workflows", [["Create workflow", "editor"], ["Import", "editor"]]],
    [`/workflows/${workflow}`, [["Run", "editor"], ["Add task", "editor"]]],
    [`/workflows/${workflow}?tab=schedule`, [["Take offline", "editor"]]],
    ["/runs", []],
    ["/approvals", []],
    ["/datasources", [["Add a data source", "admin"]]],
    [`/datasources/${source}`, [["Test the connection", "admin"], ["Synchronize now", "admin"], ["More actions", "admin"]]],
    ["/engines", [["Add an engine", "admin"], ["Test", "admin"]]],
    ["/plugins", [["Choose a file", "admin"]]],
    ["/plugins/dialect:sqlite", [["Quarantine", "admin"]]],
  ];
}

test.beforeAll(async ({ playwright, baseURL }) => {
  const admin = await playwright.request.newContext({ baseURL: baseURL!, extraHTTPHeaders: { Authorization: `Bearer ${process.env.TOKEN_ADMIN}` } });
  const made = await admin.post("/api/v1/tables", { data: { tableName: "old_prices", dbName: "main" } });
  expect(made.ok(), await made.text()).toBe(true);
  const { id: old } = (await made.json()).data;
  const deleted = await admin.post(`/api/v1/tables/${old}/soft-delete?confirmTableName=old_prices`);
  expect(deleted.ok(), await deleted.text()).toBe(true);
  await admin.dispose();
});

for (const role of ROLES) {
  test(`the role ${role} reads all pages, and is offered what it may do`, async ({ page }) => {
    await signIn(page, role);
    const menu = page.getByRole("navigation", { name: "Menu" });
    for (const name of ["Tokens", "Audit log", "Settings"]) {
      await expect(menu.getByRole("link", { name })).toHaveCount(role === "admin" ? 1 : 0);
    }
    await page.getByLabel("Question").fill(QUESTION);
    await page.keyboard.press("Enter");
    const answer = page.getByRole("region", { name: QUESTION, exact: true });
    await answer.getByRole("tab", { name: "Table" }).click();
    await expect(answer.getByRole("region", { name: `Rows: ${QUESTION}` }).getByRole("row")).toHaveCount(1 + 5);
    await page.getByRole("button", { name: "Good answer" }).click();
    await expect(page.getByRole("button", { name: "Good answer" })).toHaveAttribute("aria-pressed", "true");

    for (const [path, actions] of await offers(page)) {
      await page.goto(path);
      await settled(page);
      for (const [name, least] of actions) {
        const buttons = page.getByRole("main").getByRole("button", { name, exact: true });
        const isOffered = ROLES.indexOf(role) >= ROLES.indexOf(least);
        if (isOffered) await expect(buttons.first(), `${name} on ${path}`).toBeVisible();
        else await expect(buttons, `${name} on ${path}`).toHaveCount(0);
      }
    }

    const table = await id(page.request, "tables", "tableName", "dws_daily_sales");
    if (role !== "viewer") {
      await page.goto(`/tables/${table}`);
      await page.getByRole("button", { name: "Edit: Description", exact: true }).click();
      await page.getByRole("textbox", { name: "Description", exact: true }).fill(`Read by the ${role}`);
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByText(`Read by the ${role}`, { exact: true })).toBeVisible();
    }
    await page.goto(`/lineage?table=${table}&depth=all`);
    await page.getByRole("img", { name: /^ods_orders,/ }).click();
    await expect(page).toHaveURL(/selected=/);
    await expect(page.getByRole("complementary", { name: "Selected table" })).toContainText("ods_orders");
    if (role === "admin") return;
    for (const path of ["/tokens", "/audit", "/settings"]) {
      await page.goto(path);
      await expect(page.getByRole("main")).toContainText("the role admin is required");
    }
  });
}
