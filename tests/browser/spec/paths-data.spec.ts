/** The main paths of the data's pages: catalogue, lineage, recycle bin, data sources. */
import { type Page } from "@playwright/test";
import { choose, expect, id, settled, test } from "./support";

test("a table is found by search and by filters, opened, and shows its fields and its definition", async ({ page, request }) => {
  const owned = await (await request.get("/api/v1/tables?owner=ana&layer=ADS&pageSize=1")).json();
  await page.goto("/tables");
  await settled(page);
  const filters = page.getByRole("complementary", { name: "Filters" });
  await filters.getByRole("button", { name: /^ADS/ }).click();
  await filters.getByRole("button", { name: /^ana/ }).click();
  await expect(page).toHaveURL(/layer=ADS.*owner=ana|owner=ana.*layer=ADS/);
  await expect(page.getByRole("region", { name: "Tables" }).getByRole("link")).toHaveCount(owned.data.total);
  await page.reload();
  await expect(page.getByRole("region", { name: "Tables" }).getByRole("link")).toHaveCount(owned.data.total);
  await page.goto("/tables");
  await settled(page);
  await page.keyboard.press("/");
  await page.keyboard.type("ods_products");
  // They count the list of tables, not what the search finds.
  await expect(page.getByRole("tab", { name: "Tables and fields" })).toHaveAttribute("aria-selected", "true");
  await expect(filters).toHaveCount(0);
  await page.getByRole("link", { name: /ods_products/ }).first().click();
  await expect(page).toHaveURL(/\/tables\/\d+/);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("ods_products");
  await page.getByRole("tab", { name: "DDL" }).click();
  await expect(page.getByText(/CREATE TABLE/).first()).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("tab", { name: /Fields/ })).toHaveAttribute("aria-selected", "true");
  // Each of the others shows something too.
  for (const [tab, text] of [
    ["Size", "Period"], ["Access", "Heat"], ["Schema history", "Version"], ["Lineage", "Used in"], ["Workflows", "daily sales"], ["Changes", "Field added"],
  ] as const) {
    await page.getByRole("tab", { name: tab, exact: true }).click();
    await expect(page.getByRole("tabpanel").getByText(text).first()).toBeVisible();
  }
});

/** Writes into a text that is edited where it stands. */
async function write(page: Page, what: string, text: string) {
  await page.getByRole("button", { name: `Edit: ${what}`, exact: true }).click();
  await page.getByRole("textbox", { name: what, exact: true }).fill(text);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("textbox", { name: what, exact: true })).toHaveCount(0);
}

test("description, tags, owner and a field's comment are edited where they stand", async ({ page, request }) => {
  const table = await id(request, "tables", "tableName", "ods_customers");
  await page.goto(`/tables/${table}`);
  await settled(page);
  await write(page, "Description", "Who has an account.");
  await write(page, "Tags", "people, daily");
  await write(page, "Owner", "zoe");
  await write(page, "Description, city", "Where the goods go.");
  await page.reload();
  for (const text of ["Who has an account.", "zoe", "people", "daily", "Where the goods go."]) {
    await expect(page.getByText(text, { exact: true }).first()).toBeVisible();
  }
  const filters = page.getByRole("complementary", { name: "Filters" });
  await page.goto("/tables");
  await filters.getByRole("button", { name: /^daily/ }).click();
  await expect(page.getByRole("region", { name: "Tables" }).getByRole("link")).toHaveText(["ods_customers"]);
});

test("who was faster is shown, and what was typed stays", async ({ page, request }) => {
  const table = await id(request, "tables", "tableName", "ods_orders");
  await page.goto(`/tables/${table}`);
  await settled(page);
  await page.getByRole("button", { name: "Edit: Description", exact: true }).click();
  await page.getByRole("textbox", { name: "Description", exact: true }).fill("mine");
  expect((await request.put(`/api/v1/tables/${table}`, { data: { description: "theirs" } })).ok()).toBe(true);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("theirs");
  await expect(page.getByRole("textbox", { name: "Description", exact: true })).toHaveValue("mine");
  await page.getByRole("button", { name: "Overwrite" }).click();
  await expect(page.getByText("mine", { exact: true })).toBeVisible();
});

test("a new table is created in its database, changed, deleted, restored and purged", async ({ page }) => {
  await page.goto("/tables");
  await page.getByRole("button", { name: "New table" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Table name").fill("ods_returns");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("ods_returns");

  await page.getByRole("button", { name: "Add a field" }).click();
  await dialog.getByLabel("Name").fill("return_id");
  await dialog.getByLabel("Type").fill("INTEGER");
  await dialog.getByText("Primary key").click();
  await dialog.getByText("Nullable").click();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("cell", { name: /return_id/ }).first()).toBeVisible();

  await page.getByRole("button", { name: "Create in the database" }).click();
  await carriedOut(page, "Create ods_returns in the database", /CREATE TABLE/);
  // In the database now: a further field is a statement, which is shown before it runs.
  await page.getByRole("button", { name: "Add a field" }).click();
  await dialog.getByLabel("Name").fill("reason");
  await dialog.getByLabel("Type").fill("TEXT");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await carriedOut(page, "Add the field reason", /ALTER TABLE/);
  await expect(page.getByRole("cell", { name: "reason", exact: true })).toBeVisible();
  await page.getByRole("tab", { name: "Changes" }).click();
  await expect(page.getByRole("tabpanel").getByText("adds the field reason to ods_returns").first()).toBeVisible();

  await moveToBin(page, "ods_returns");
  const bin = page.getByRole("region", { name: "Recycle bin" });
  await expect(bin.getByText("30 days")).toBeVisible();
  await bin.getByRole("button", { name: "Restore" }).click();
  await carriedOut(page, "Restore ods_returns", /RENAME TO/, "Restore");
  await page.getByRole("status").getByRole("link", { name: "ods_returns" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("ods_returns");

  await moveToBin(page, "ods_returns");
  await bin.getByRole("button", { name: "Delete for good" }).click();
  await carriedOut(page, "Delete ods_returns for good", /DROP TABLE/, "Delete for good", true);
  await expect(page.getByText("The recycle bin is empty")).toBeVisible();
});

/** A change in the database, in the dialog that has opened: its statements, then its outcome. */
async function carriedOut(page: Page, title: string, statement: RegExp, action = "Run", isTyped = false) {
  const dialog = page.getByRole("dialog", { name: title });
  await expect(dialog.getByText(statement).first()).toBeVisible();
  const button = dialog.getByRole("button", { name: action });
  if (isTyped) {
    await expect(button).toBeDisabled();
    const field = dialog.getByRole("textbox", { name: /^Type .* to confirm$/ });
    await field.fill("another");
    await expect(button).toBeDisabled();
    await field.fill((await field.getAttribute("placeholder"))!);
  }
  await button.click();
  await expect(dialog.getByRole("status")).toContainText("Done");
  // What ran is shown, which the plan may have named otherwise.
  await expect(dialog.getByText("done", { exact: true }).first()).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).first().click();
  await expect(dialog).toHaveCount(0);
}

async function moveToBin(page: Page, name: string) {
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Move to the recycle bin" }).click();
  await carriedOut(page, `Move ${name} to the recycle bin`, /RENAME TO/, "Move to the recycle bin", true);
  await expect(page).toHaveURL(/\/bin$/);
}

test("the lineage of a table is followed, and the address keeps the view", async ({ page, request }) => {
  await page.goto("/lineage");
  await settled(page);
  await page.getByRole("combobox", { name: "Find a table" }).fill("dws_daily");
  await page.getByRole("option", { name: /dws_daily_sales/ }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("dws_daily_sales");
  // As the server counts them: the graph before stays until the next has come.
  const table = await id(request, "tables", "tableName", "dws_daily_sales");
  const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const counts = async (narrowed: string) => {
    const { nodes, edges } = (await (await request.get(`/api/v1/lineage?tableId=${table}${narrowed}`)).json()).data;
    return `${counted(nodes.length, "table")}, ${counted(edges.length, "edge")}`;
  };
  const [near, far] = [await counts("&depth=1"), await counts("")];
  expect(near).not.toBe(far);
  await choose(page, "Steps", "1 step");
  await expect(page).toHaveURL(/depth=1/);
  await expect(page.getByText(near, { exact: true })).toBeVisible();
  await choose(page, "Steps", "All steps");
  await expect(page.getByText(far, { exact: true })).toBeVisible();
  await choose(page, "Direction", "Upstream");
  await page.getByRole("img", { name: /^ods_orders,/ }).click();
  const panel = page.getByRole("complementary", { name: "Selected table" });
  await expect(panel.getByRole("heading", { name: "ods_orders" })).toBeVisible();
  await page.reload();
  await expect(panel.getByRole("heading", { name: "ods_orders" })).toBeVisible();
  await expect(page.getByRole("button", { name: /^Upstream/ })).toBeVisible();
  await page.getByRole("button", { name: "List", exact: true }).click();
  await page.reload();
  await expect(page.getByRole("cell", { name: /ods_orders/ }).first()).toBeVisible();
  await panel.getByRole("link", { name: "Open the table" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("ods_orders");
});

test("a data source is added with a test, read in, and read in again with a difference", async ({ page, request }) => {
  // A second name of the example company's file, which is where the server may read.
  const sources = await (await request.get("/api/v1/datasources")).json();
  const { url } = sources.data.records.find((one: { name: string }) => one.name === "lakeside");
  await page.goto("/datasources");
  await page.getByRole("button", { name: "Add a data source" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("lakeside again");
  // A press beside the form loses nothing.
  await page.mouse.click(5, 5);
  await expect(dialog.getByLabel("Name")).toHaveValue("lakeside again");
  await choose(dialog, "Kind", "SQLite", page);
  await dialog.getByLabel("File").fill(`${url}.missing`);
  await dialog.getByRole("button", { name: "Test the connection" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByLabel("File").fill(url);
  await dialog.getByRole("button", { name: "Test the connection" }).click();
  await expect(dialog.getByText(/Connected: SQLite/)).toBeVisible();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("lakeside again");
  await page.getByRole("tab", { name: "Synchronization" }).click();
  await page.getByRole("button", { name: "Synchronize now" }).click();
  const difference = page.getByRole("row", { name: /^Tables/ });
  await expect(difference).toHaveText(/^Tables[1-9]\d*00$/);
  await page.getByRole("button", { name: "Synchronize now" }).click();
  await expect(difference).toHaveText("Tables000");
  await page.getByRole("link", { name: "Tables, the latest changed first" }).click();
  await expect(page).toHaveURL(/source=\d+/);
  await expect(page.getByRole("link", { name: "ods_orders", exact: true })).toHaveCount(1);
});
